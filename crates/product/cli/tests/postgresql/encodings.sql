-- Client encodings, and byte strings in encodings.

-- Every character of the encodings of one byte but the controls
SELECT name, convert_from(bytes, name), convert_to(convert_from(bytes, name), name) = bytes AS comes_back FROM (VALUES
  ('LATIN1'::name, '\xa1a2a3a4a5a6a7a8a9aaabacaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebfc0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedfe0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafbfcfdfeff'::bytea),
  ('LATIN2'::name, '\xa1a2a3a4a5a6a7a8a9aaabacaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebfc0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedfe0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafbfcfdfeff'::bytea),
  ('LATIN3'::name, '\xa1a2a3a4a6a7a8a9aaabacafb0b1b2b3b4b5b6b7b8b9babbbcbdbfc0c1c2c4c5c6c7c8c9cacbcccdcecfd1d2d3d4d5d6d7d8d9dadbdcdddedfe0e1e2e4e5e6e7e8e9eaebecedeeeff1f2f3f4f5f6f7f8f9fafbfcfdfeff'::bytea),
  ('LATIN4'::name, '\xa1a2a3a4a5a6a7a8a9aaabacaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebfc0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedfe0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafbfcfdfeff'::bytea),
  ('LATIN5'::name, '\xa1a2a3a4a5a6a7a8a9aaabacaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebfc0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedfe0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafbfcfdfeff'::bytea),
  ('LATIN6'::name, '\xa1a2a3a4a5a6a7a8a9aaabacaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebfc0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedfe0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafbfcfdfeff'::bytea),
  ('LATIN7'::name, '\xa1a2a3a4a5a6a7a8a9aaabacaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebfc0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedfe0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafbfcfdfeff'::bytea),
  ('LATIN8'::name, '\xa1a2a3a4a5a6a7a8a9aaabacaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebfc0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedfe0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafbfcfdfeff'::bytea),
  ('LATIN9'::name, '\xa1a2a3a4a5a6a7a8a9aaabacaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebfc0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedfe0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafbfcfdfeff'::bytea),
  ('LATIN10'::name, '\xa1a2a3a4a5a6a7a8a9aaabacaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebfc0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedfe0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafbfcfdfeff'::bytea),
  ('WIN1256'::name, '\x808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9fa1a2a3a4a5a6a7a8a9aaabacaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebfc0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedfe0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafbfcfdfeff'::bytea),
  ('WIN1258'::name, '\x8082838485868788898b8c9192939495969798999b9c9fa1a2a3a4a5a6a7a8a9aaabacaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebfc0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedfe0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafbfcfdfeff'::bytea),
  ('WIN866'::name, '\x808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9fa0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebfc0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedfe0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafbfcfdfe'::bytea),
  ('WIN874'::name, '\x808591929394959697a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebfc0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadfe0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafb'::bytea),
  ('KOI8R'::name, '\x808182838485868788898a8b8c8d8e8f909192939495969798999b9c9d9e9fa0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebfc0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedfe0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafbfcfdfeff'::bytea),
  ('WIN1251'::name, '\x808182838485868788898a8b8c8d8e8f9091929394959697999a9b9c9d9e9fa1a2a3a4a5a6a7a8a9aaabacaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebfc0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedfe0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafbfcfdfeff'::bytea),
  ('WIN1252'::name, '\x8082838485868788898a8b8c8e9192939495969798999a9b9c9e9fa1a2a3a4a5a6a7a8a9aaabacaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebfc0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedfe0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafbfcfdfeff'::bytea),
  ('ISO_8859_5'::name, '\xa1a2a3a4a5a6a7a8a9aaabacaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebfc0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedfe0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafbfcfdfeff'::bytea),
  ('ISO_8859_6'::name, '\xa4acbbbfc1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dae0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2'::bytea),
  ('ISO_8859_7'::name, '\xa1a2a3a4a5a6a7a8a9aaabacafb0b1b2b3b4b5b6b7b8b9babbbcbdbebfc0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d3d4d5d6d7d8d9dadbdcdddedfe0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafbfcfdfe'::bytea),
  ('ISO_8859_8'::name, '\xa2a3a4a5a6a7a8a9aaabacaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbedfe0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafdfe'::bytea),
  ('WIN1250'::name, '\x808284858687898a8b8c8d8e8f91929394959697999a9b9c9d9e9fa1a2a3a4a5a6a7a8a9aaabacaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebfc0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedfe0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafbfcfdfeff'::bytea),
  ('WIN1253'::name, '\x80828384858687898b91929394959697999ba1a2a3a4a5a6a7a8a9abacaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebfc0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d3d4d5d6d7d8d9dadbdcdddedfe0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafbfcfdfe'::bytea),
  ('WIN1254'::name, '\x8082838485868788898a8b8c9192939495969798999a9b9c9fa1a2a3a4a5a6a7a8a9aaabacaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebfc0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedfe0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafbfcfdfeff'::bytea),
  ('WIN1255'::name, '\x8082838485868788898b9192939495969798999ba1a2a3a4a5a6a7a8a9aaabacaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebfc0c1c2c3c4c5c6c7c8c9cbcccdcecfd0d1d2d3d4d5d6d7d8e0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafdfe'::bytea),
  ('WIN1257'::name, '\x808284858687898b8d8e8f91929394959697999b9d9ea2a3a4a6a7a8a9aaabacaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebfc0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedfe0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafbfcfdfeff'::bytea),
  ('KOI8U'::name, '\x808182838485868788898a8b8c8d8e8f909192939495969798999b9c9d9e9fa0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebfc0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedfe0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafbfcfdfeff'::bytea)) encodings (name, bytes);

-- Encodings of several bytes
SELECT name, convert_to(text, name), convert_from(convert_to(text, name), name) = text AS comes_back FROM (VALUES
  ('EUC_JP'::name, 'a日本語ｱ①'), ('SJIS', 'a日本語ｱ①表'), ('EUC_JIS_2004', 'a日本語か゚𠀋'), ('SHIFT_JIS_2004', 'a日本語か゚𠀋'),
  ('EUC_CN', 'a中文'), ('GBK', 'a中文'), ('GB18030', 'a中文€😀'), ('BIG5', 'a繁體'), ('EUC_TW', 'a繁體'),
  ('EUC_KR', 'a한국어'), ('UHC', 'a한국어똠'), ('UTF8', 'é€😀'), ('SQL_ASCII', 'é')) texts (name, text);
SELECT convert_to('똠', 'EUC_KR');
SELECT convert_to('字', 'LATIN1');
SELECT convert_to('a€', 'latin-1');
SELECT convert_to('€', 'mule_internal');
SELECT convert_to('€', 'cp1252');
SELECT convert_from('\x80', 'WIN1252'), convert_from('\xa4', 'LATIN9');
SELECT convert_to('€', 'GBK');
SELECT convert_from('\x80', 'GBK');
SELECT convert_from('\x6181', 'WIN1252');
SELECT convert_from('\x618f', 'EUC_JP');
SELECT convert_from('\xa4a2a4', 'EUC_JP');
SELECT convert_from('\xe282', 'UTF8');
SELECT convert_from('\x6100', 'LATIN1');
SELECT convert_from('\xe9', 'SQL_ASCII');
SELECT convert_from('\x81308130', 'GB18030'), convert_from('\x8130', 'GB18030');
SELECT convert('\xe9', 'LATIN1', 'UTF8'), convert('\xc3a9', 'UTF8', 'LATIN1'), convert('\xe9', 'SQL_ASCII', 'LATIN1');
SELECT convert('\xe9', 'LATIN1', 'LATIN2');
SELECT convert('\xe9', 'UTF8', 'SQL_ASCII');
SELECT convert('\xe9', 'nope', 'LATIN2');
SELECT convert('\xe9', 'LATIN1', 'nope');
SELECT length('\xe9e9'::bytea, 'LATIN1'), length('\xc3a9'::bytea, 'UTF8'), length('\xa4a28ea5'::bytea, 'EUC_JP');
SELECT length('\xe9'::bytea, 'UTF8');
SELECT length('\xe9'::bytea, 'nope');

-- Names
SELECT number, pg_encoding_to_char(number), pg_encoding_max_length(number) FROM generate_series(-1, 42) number;
SELECT name, pg_char_to_encoding(name) FROM unnest('{Latin-1,ISO_8859-15,iso88595,unicode,UTF 8,win,windows-1252,windows932,
  mskanji,shift_jis_2004,koi8,tcvn5712,alt,abc,cp1252,mswin1252,iso885911}'::name[]) name;

-- The client's encoding
SET client_encoding TO 'nope';
SET NAMES 'iso-8859-1';
SHOW client_encoding;
SELECT pg_client_encoding(), current_setting('client_encoding'), getdatabaseencoding();
-- psql sends what it reads: two bytes, which are two characters now
SELECT length('é'), 'é' AS "ß";
SELECT 'é', nothing;
SELECT chr(8364);
SELECT 1 AS a, chr(21475) AS b UNION ALL SELECT 2, 'x';
CREATE TABLE encoded (a text);
INSERT INTO encoded VALUES ('é');
SET NAMES DEFAULT;
SHOW client_encoding;
SELECT a, length(a) FROM encoded;
DROP TABLE encoded;
BEGIN;
SET LOCAL client_encoding = win1252;
SHOW client_encoding;
COMMIT;
SHOW client_encoding;
BEGIN;
SET client_encoding = koi8r;
ROLLBACK;
SHOW client_encoding;
SET client_encoding = sql_ascii;
SHOW client_encoding;
SELECT 'é', length('é');
SET NAMES;
SHOW client_encoding;
\encoding sjis
\encoding
SHOW client_encoding;
\encoding utf-8
SELECT set_config('client_encoding', 'latin2', false);
RESET client_encoding;

-- COPY
CREATE TABLE copied (a text, b text);
COPY copied FROM STDIN (ENCODING 'latin1');
é	1
ß\t	2
\.
SELECT a, length(a), b FROM copied;
COPY copied TO STDOUT (ENCODING 'latin1');
COPY copied TO STDOUT (FORMAT csv, HEADER, ENCODING 'latin1');
COPY copied TO STDOUT (ENCODING 'sql_ascii');
COPY copied TO STDOUT (ENCODING 'iso_8859_5');
COPY copied TO STDOUT (ENCODING 'mule_internal');
COPY copied FROM STDIN (ENCODING 'win1252');
a	1
Ё	2
\.
COPY copied FROM STDIN (ENCODING 'euc_kr');
a	1
b	é
\.
DROP TABLE copied;
