-- Products that are ordered often and discounted rarely.
SELECT p.product_name, count(*) AS lines, sum(d.quantity) AS pieces,
       round(avg(d.discount)::numeric, 4) AS average_discount,
       min(d.unit_price) AS least_price, max(d.unit_price) AS greatest_price
FROM order_details d JOIN products p USING (product_id)
GROUP BY p.product_id, p.product_name
HAVING count(*) >= 30 AND avg(d.discount) < 0.06
ORDER BY lines DESC, p.product_name;
