-- How long shipping takes, by shipper and quarter.
SELECT s.company_name, date_trunc('quarter', o.order_date)::date AS quarter,
       count(*) AS orders,
       round(avg(o.shipped_date - o.order_date), 2) AS average_days,
       max(o.shipped_date - o.order_date) AS worst_days,
       count(*) FILTER (WHERE o.shipped_date > o.required_date) AS late,
       min(o.order_date + interval '1 month') AS a_month_after_the_first,
       max(age(o.required_date, o.order_date)) AS longest_notice
FROM orders o JOIN shippers s ON s.shipper_id = o.ship_via
WHERE o.shipped_date IS NOT NULL AND o.order_date BETWEEN DATE '1996-07-01' AND DATE '1997-12-31'
GROUP BY 1, 2
ORDER BY 1, 2;
