-- The three best products of each category, and what they and their betters make together.
SELECT * FROM (
    SELECT g.category_name, p.product_name,
           sum(d.quantity) AS pieces,
           rank() OVER by_pieces AS place,
           sum(sum(d.quantity)) OVER (by_pieces ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS running,
           round(sum(d.quantity)::numeric / sum(sum(d.quantity)) OVER (PARTITION BY g.category_name), 4) AS share,
           ntile(4) OVER by_pieces AS quarter
    FROM order_details d
    JOIN products p ON p.product_id = d.product_id
    JOIN categories g ON g.category_id = p.category_id
    GROUP BY g.category_name, p.product_name
    WINDOW by_pieces AS (PARTITION BY g.category_name ORDER BY sum(d.quantity) DESC, p.product_name)
) ranked
WHERE place <= 3
ORDER BY category_name, place;
