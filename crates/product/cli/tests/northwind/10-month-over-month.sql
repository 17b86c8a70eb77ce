-- Growth from month to month, months without orders included.
WITH months AS (
    SELECT m::date AS month FROM generate_series(DATE '1996-07-01', DATE '1998-06-01', interval '1 month') AS m
), sales AS (
    SELECT date_trunc('month', o.order_date)::date AS month,
           round(sum(d.unit_price * d.quantity * (1 - d.discount))::numeric, 2) AS revenue
    FROM orders o JOIN order_details d USING (order_id) GROUP BY 1
)
SELECT to_char(m.month, 'YYYY-MM') AS month, coalesce(s.revenue, 0) AS revenue,
       lag(s.revenue) OVER w AS month_before,
       round(100 * (s.revenue - lag(s.revenue) OVER w) / nullif(lag(s.revenue) OVER w, 0), 1) AS growth_percent,
       round(avg(s.revenue) OVER (ORDER BY m.month ROWS 2 PRECEDING), 2) AS three_months
FROM months m LEFT JOIN sales s USING (month)
WINDOW w AS (ORDER BY m.month)
ORDER BY 1;
