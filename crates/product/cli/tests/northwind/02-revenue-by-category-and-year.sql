-- Revenue by category and year, with the share of the year.
WITH revenue AS (
    SELECT g.category_name, extract(year FROM o.order_date) AS year,
           sum(d.unit_price::numeric * d.quantity * (1 - d.discount::numeric)) AS amount
    FROM order_details d
    JOIN orders o USING (order_id)
    JOIN products p USING (product_id)
    JOIN categories g USING (category_id)
    GROUP BY 1, 2
)
SELECT category_name, year, round(amount, 2) AS revenue,
       round(100 * amount / sum(amount) OVER (PARTITION BY year), 1) AS percent_of_year
FROM revenue
ORDER BY year, revenue DESC;
