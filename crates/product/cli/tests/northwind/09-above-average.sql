-- Products dearer than their category's average, with the nearest cheaper neighbour.
SELECT p.product_name, p.unit_price,
       (SELECT round(avg(x.unit_price)::numeric, 3) FROM products x WHERE x.category_id = p.category_id) AS average,
       (SELECT x.product_name FROM products x
        WHERE x.category_id = p.category_id AND x.unit_price < p.unit_price
        ORDER BY x.unit_price DESC, x.product_id LIMIT 1) AS next_cheaper
FROM products p
WHERE p.unit_price > (SELECT avg(x.unit_price) FROM products x WHERE x.category_id = p.category_id)
ORDER BY p.unit_price DESC, p.product_name;
