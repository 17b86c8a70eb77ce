-- Names and places by pattern.
SELECT company_name, city, coalesce(region, '-') AS region, phone
FROM customers
WHERE (company_name LIKE '%markt%' OR company_name ILIKE 'la %' OR city SIMILAR TO '(M|S)%o' OR phone ~ '^\(5\)')
  AND country NOT LIKE 'U%'
ORDER BY company_name COLLATE "C";
