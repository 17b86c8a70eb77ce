-- What each supplier sends, in one line.
SELECT s.country, s.company_name,
       string_agg(p.product_name, ', ' ORDER BY p.product_name) AS products,
       count(p.product_id) AS kinds,
       bool_or(p.discontinued = 1) AS has_discontinued,
       array_agg(DISTINCT g.category_name ORDER BY g.category_name) AS categories,
       CASE WHEN sum(p.units_in_stock) = 0 THEN 'empty'
            WHEN sum(p.units_in_stock) < 50 THEN 'low' ELSE 'fine' END AS stock
FROM suppliers s
LEFT JOIN products p ON p.supplier_id = s.supplier_id
LEFT JOIN categories g ON g.category_id = p.category_id
GROUP BY s.supplier_id, s.country, s.company_name
ORDER BY s.country, s.company_name;
