"""Models with what PostgreSQL offers to Django: arrays, JSON, conditional and functional constraints."""

import uuid

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Lower, Now


class Author(models.Model):
    name = models.CharField(max_length=80, db_comment="as printed")
    email = models.EmailField(blank=True)
    active = models.BooleanField(default=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["name"], condition=Q(active=True), name="one_active_author"),
            models.UniqueConstraint(Lower("email"), name="email_in_any_case", condition=~Q(email="")),
        ]
        indexes = [models.Index(Lower("name").desc(), name="author_lower_name")]

    def __str__(self):
        return self.name


class Tag(models.Model):
    name = models.SlugField(unique=True)


class Book(models.Model):
    key = models.UUIDField(primary_key=True, default=uuid.uuid4)
    author = models.ForeignKey(Author, on_delete=models.CASCADE, related_name="books")
    title = models.TextField()
    price = models.DecimalField(max_digits=10, decimal_places=2)
    with_tax = models.GeneratedField(
        expression=F("price") * 2, output_field=models.DecimalField(max_digits=12, decimal_places=2), db_persist=True
    )
    words = ArrayField(models.CharField(max_length=20), default=list)
    extra = models.JSONField(default=dict)
    printed = models.DateField(null=True)
    made = models.DateTimeField(db_default=Now())
    reading = models.DurationField(null=True)
    cover = models.BinaryField(default=b"")
    tags = models.ManyToManyField(Tag)

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(price__gte=0), name="price_not_negative")]
        indexes = [models.Index(fields=["printed"], include=["title"], condition=Q(printed__isnull=False), name="printed_books")]


class Job(models.Model):
    number = models.BigAutoField(primary_key=True)
    taken = models.BooleanField(default=False)
