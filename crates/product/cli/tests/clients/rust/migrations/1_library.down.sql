DROP TABLE book, author;
