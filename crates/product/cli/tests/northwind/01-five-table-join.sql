-- Who buys which category for most: five tables joined.
SELECT c.company_name, g.category_name,
       count(DISTINCT o.order_id) AS orders,
       round(sum(d.unit_price * d.quantity * (1 - d.discount))::numeric, 2) AS revenue
FROM customers c
JOIN orders o ON o.customer_id = c.customer_id
JOIN order_details d ON d.order_id = o.order_id
JOIN products p ON p.product_id = d.product_id
JOIN categories g ON g.category_id = p.category_id
GROUP BY c.company_name, g.category_name
HAVING sum(d.unit_price * d.quantity) > 5000
ORDER BY revenue DESC, c.company_name, g.category_name
LIMIT 25;
