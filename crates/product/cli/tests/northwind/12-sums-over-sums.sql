-- Freight by country and shipper, with totals; and the middle of each country.
SELECT coalesce(o.ship_country, 'all countries') AS country, coalesce(s.company_name, 'all shippers') AS shipper,
       count(*) AS orders, round(sum(o.freight)::numeric, 2) AS freight,
       round((percentile_cont(0.5) WITHIN GROUP (ORDER BY o.freight))::numeric, 3) AS median,
       grouping(o.ship_country, s.company_name) AS level
FROM orders o JOIN shippers s ON s.shipper_id = o.ship_via
WHERE o.ship_country IN ('Austria', 'Germany', 'Brazil')
GROUP BY ROLLUP (o.ship_country, s.company_name)
ORDER BY level, country, shipper;
