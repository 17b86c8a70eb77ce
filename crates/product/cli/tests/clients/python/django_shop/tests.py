"""What `manage.py test` runs, in a database that it creates and drops."""

from django.db import IntegrityError, connection, transaction
from django.test import TestCase, TransactionTestCase

from .models import Author


class Rollback(TestCase):
    @classmethod
    def setUpTestData(cls):
        Author.objects.create(name="Ada")

    def test_database(self):
        self.assertTrue(connection.settings_dict["NAME"].startswith("test_"))
        self.assertEqual(Author.objects.count(), 1)
        Author.objects.create(name="Bob")

    def test_each_test_rolls_back(self):
        self.assertEqual(Author.objects.count(), 1)
        with self.assertRaises(IntegrityError), transaction.atomic():
            Author.objects.create(name="Ada")


class Truncation(TransactionTestCase):
    reset_sequences = True

    def test_sequences_begin_anew(self):
        self.assertEqual(Author.objects.create(name="Eve").pk, 1)

    def test_tables_are_empty(self):
        self.assertEqual(Author.objects.create(name="Eve").pk, 1)
