CREATE TYPE mood AS ENUM ('sad', 'happy');
ALTER TABLE author ADD COLUMN mood mood, ADD COLUMN moods mood[];
CREATE INDEX happy ON author (lower(name)) WHERE mood = 'happy';
