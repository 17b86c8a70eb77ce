"""SQLAlchemy with one of its drivers: tables, reflection, ORM, transactions, pool.

The driver is the first argument: psycopg, psycopg2 or asyncpg.
"""

import asyncio
import datetime
import decimal
import enum
import sys
import uuid

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql as pg
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship, selectinload
from steps import URL, equal, sqlstate, step, version

DRIVER = sys.argv[1]


class Base(DeclarativeBase):
    pass


class Customer(Base):
    __tablename__ = "customer"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(50), unique=True)
    since: Mapped[datetime.datetime] = mapped_column(sa.DateTime(timezone=True), server_default=sa.func.now())
    orders: Mapped[list["Order"]] = relationship(back_populates="customer", cascade="all, delete-orphan")


class Order(Base):
    __tablename__ = "customer_order"
    id: Mapped[uuid.UUID] = mapped_column(primary_key=True, default=uuid.uuid4)
    number: Mapped[int] = mapped_column(sa.BigInteger, sa.Identity(start=100))
    customer_id: Mapped[int] = mapped_column(sa.ForeignKey("customer.id", ondelete="CASCADE"), index=True)
    total: Mapped[decimal.Decimal] = mapped_column(sa.Numeric(12, 2), comment="with tax")
    lines: Mapped[dict] = mapped_column(pg.JSONB)
    tags: Mapped[list[str]] = mapped_column(pg.ARRAY(sa.Text))
    customer: Mapped[Customer] = relationship(back_populates="orders")
    __table_args__ = (sa.CheckConstraint("total >= 0", name="not_negative"), {"comment": "orders"})


class Mood(enum.Enum):
    sad = 1
    happy = 2


def synchronous(engine):
    with step("migrate"):
        Base.metadata.create_all(engine)
        Base.metadata.create_all(engine)
    with step("insert"), Session(engine) as session:
        customer = Customer(name="Ada")
        customer.orders = [
            Order(total=decimal.Decimal(n), lines={"n": n, "of": [1, 2]}, tags=["a", "b"]) for n in range(3)
        ]
        session.add(customer)
        session.commit()
        equal([order.number for order in sorted(customer.orders, key=lambda order: order.total)], [100, 101, 102])
    with step("select"), Session(engine) as session:
        found = session.scalars(sa.select(Customer).options(selectinload(Customer.orders))).one()
        equal(sum(order.total for order in found.orders), decimal.Decimal("3.00"))
        with_tag = sa.select(sa.func.count()).select_from(Order).where(Order.tags.contains(["a"]))
        equal(session.scalar(with_tag.where(Order.lines["n"].as_integer() > 0)), 2)
    with step("reflect"):
        metadata = sa.MetaData()
        metadata.reflect(engine)
        equal(sorted(metadata.tables), ["customer", "customer_order"])
        reflected = metadata.tables["customer_order"]
        equal(str(reflected.c.total.type), "NUMERIC(12, 2)")
        equal(reflected.c.total.comment, "with tax")
        equal([key.column.table.name for key in reflected.foreign_keys], ["customer"])
        inspector = sa.inspect(engine)
        equal([check["name"] for check in inspector.get_check_constraints("customer_order")], ["not_negative"])
        equal([index["name"] for index in inspector.get_indexes("customer_order")], ["ix_customer_order_customer_id"])
        equal(inspector.get_unique_constraints("customer")[0]["column_names"], ["name"])
        equal(inspector.get_view_names(), [])
        assert inspector.get_columns("customer_order")[1]["identity"]["start"] == 100
    with step("transaction"):
        with Session(engine) as session, session.begin():
            order = session.scalars(sa.select(Order).order_by(Order.total).with_for_update()).first()
            order.total = decimal.Decimal(10)
            with session.begin_nested() as nested:
                session.execute(sa.delete(Order))
                nested.rollback()
        with Session(engine) as session:
            equal(session.scalar(sa.select(sa.func.sum(Order.total))), decimal.Decimal("13.00"))
            try:
                session.execute(sa.insert(Customer).values(name="Ada"))
                raise AssertionError("a duplicate was accepted")
            except sa.exc.IntegrityError as error:
                equal(sqlstate(error), "23505")
    with step("skip locked"), Session(engine) as one, Session(engine) as other:
        first = one.scalars(sa.select(Order).order_by(Order.number).limit(1).with_for_update(skip_locked=True)).one()
        second = other.scalars(sa.select(Order).order_by(Order.number).limit(1).with_for_update(skip_locked=True)).one()
        assert first.number != second.number
    with step("upsert"), engine.begin() as connection:
        insert = pg.insert(Customer).values([{"name": "Ada"}, {"name": "Bob"}])
        names = connection.execute(insert.on_conflict_do_nothing(index_elements=["name"]).returning(Customer.name))
        equal(names.scalars().all(), ["Bob"])
    with step("many rows"), engine.begin() as connection:
        connection.execute(sa.insert(Customer), [{"name": f"c{n}"} for n in range(2500)])
        equal(connection.scalar(sa.select(sa.func.count()).select_from(Customer)), 2502)
    with step("partial and expression index"):
        table = Base.metadata.tables["customer_order"]
        sa.Index("open_orders", table.c.number, postgresql_where=table.c.total > 0).create(engine)
        sa.Index("names", sa.func.lower(Base.metadata.tables["customer"].c.name), unique=True).create(engine)
        assert "names" in [index["name"] for index in sa.inspect(engine).get_indexes("customer")]
    with step("enum"):
        metadata = sa.MetaData()
        person = sa.Table("person", metadata, sa.Column("id", sa.Integer, primary_key=True), sa.Column("mood", sa.Enum(Mood)))
        metadata.create_all(engine)
        with engine.begin() as connection:
            connection.execute(sa.insert(person).values(mood=Mood.happy))
            equal(connection.scalar(sa.select(person.c.mood)), Mood.happy)
        equal(sa.inspect(engine).get_enums()[0]["labels"], ["sad", "happy"])
    with step("drop"):
        Base.metadata.drop_all(engine)


async def asynchronous(engine):
    with step("migrate"):
        async with engine.begin() as connection:
            await connection.run_sync(Base.metadata.create_all)
    with step("insert"):
        async with engine.begin() as connection:
            await connection.execute(sa.insert(Customer), [{"name": f"c{n}"} for n in range(100)])
            values = {"customer_id": 1, "total": 5, "lines": {"a": 1}, "tags": ["x"], "id": uuid.uuid4()}
            await connection.execute(sa.insert(Order).values(values))
    with step("select"):
        async with engine.connect() as connection:
            equal(await connection.scalar(sa.select(sa.func.count()).select_from(Customer)), 100)
            equal(await connection.scalar(sa.select(Order.lines)), {"a": 1})
    with step("reflect"):
        async with engine.connect() as connection:
            metadata = sa.MetaData()
            await connection.run_sync(metadata.reflect)
            equal(sorted(metadata.tables), ["customer", "customer_order"])
    with step("transaction"):
        try:
            async with engine.begin() as connection:
                await connection.execute(sa.delete(Customer))
                raise KeyError("rolls back")
        except KeyError:
            pass
        async with engine.connect() as connection:
            equal(await connection.scalar(sa.select(sa.func.count()).select_from(Customer)), 100)
    with step("pool"):
        async def one(number):
            async with engine.connect() as connection:
                return await connection.scalar(sa.select(sa.literal(number) + 1))
        equal(await asyncio.gather(*(one(number) for number in range(20))), list(range(1, 21)))
    with step("enum"):
        metadata = sa.MetaData()
        sa.Table("person", metadata, sa.Column("id", sa.Integer, primary_key=True), sa.Column("mood", sa.Enum(Mood)))
        async with engine.begin() as connection:
            await connection.run_sync(metadata.create_all)
    with step("drop"):
        async with engine.begin() as connection:
            await connection.run_sync(Base.metadata.drop_all)
    await engine.dispose()


version("SQLAlchemy", DRIVER.replace("psycopg2", "psycopg2-binary"))
url = sa.make_url(URL).set(drivername=f"postgresql+{DRIVER}")
if DRIVER == "asyncpg":
    asyncio.run(asynchronous(create_async_engine(url)))
else:
    synchronous(sa.create_engine(url))
