-- Customers who never ordered, and those who never ordered seafood.
SELECT customer_id, company_name, 'nothing' AS never_ordered
FROM customers c
WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.customer_id)
UNION ALL
SELECT c.customer_id, c.company_name, 'seafood'
FROM customers c
WHERE EXISTS (SELECT FROM orders o WHERE o.customer_id = c.customer_id)
  AND c.customer_id NOT IN (
    SELECT o.customer_id
    FROM orders o JOIN order_details d USING (order_id) JOIN products p USING (product_id)
    JOIN categories g USING (category_id)
    WHERE g.category_name = 'Seafood')
ORDER BY 3, 1;
