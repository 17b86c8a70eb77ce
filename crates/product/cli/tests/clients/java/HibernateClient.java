import java.math.BigDecimal;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;

import jakarta.persistence.CascadeType;
import jakarta.persistence.Column;
import jakarta.persistence.Entity;
import jakarta.persistence.EnumType;
import jakarta.persistence.Enumerated;
import jakarta.persistence.GeneratedValue;
import jakarta.persistence.GenerationType;
import jakarta.persistence.Id;
import jakarta.persistence.Index;
import jakarta.persistence.Lob;
import jakarta.persistence.LockModeType;
import jakarta.persistence.ManyToOne;
import jakarta.persistence.OneToMany;
import jakarta.persistence.Table;
import jakarta.persistence.Version;
import org.hibernate.SessionFactory;
import org.hibernate.annotations.CreationTimestamp;
import org.hibernate.annotations.JdbcTypeCode;
import org.hibernate.cfg.Configuration;
import org.hibernate.type.SqlTypes;

/** Hibernate: schema creation, update and validation, HQL, locks, versions. */
public final class HibernateClient {
    enum Mood {
        SAD, HAPPY
    }

    @Entity(name = "Author")
    @Table(indexes = @Index(columnList = "name"))
    static class Author {
        @Id
        @GeneratedValue(strategy = GenerationType.IDENTITY)
        Long id;
        @Column(unique = true, nullable = false, length = 80)
        String name;
        @Enumerated(EnumType.STRING)
        Mood mood = Mood.HAPPY;
        @OneToMany(mappedBy = "author", cascade = CascadeType.ALL)
        List<Book> books = new ArrayList<>();
    }

    @Entity(name = "Book")
    static class Book {
        @Id
        @GeneratedValue(strategy = GenerationType.SEQUENCE)
        Long id;
        @Version
        int version;
        String title;
        @Column(precision = 10, scale = 2)
        BigDecimal price;
        String[] tags;
        @JdbcTypeCode(SqlTypes.JSON)
        Map<String, Integer> extra;
        UUID key = new UUID(1, 2);
        @CreationTimestamp
        Instant made;
        @ManyToOne
        Author author;
    }

    @Entity(name = "Document")
    static class Document {
        @Id
        Long id;
        @Lob
        byte[] content;
    }

    private static SessionFactory open(String action, Class<?>... entities) {
        Configuration configuration = new Configuration()
            .setProperty("hibernate.connection.url", Steps.URL)
            .setProperty("hibernate.connection.username", Steps.USER)
            .setProperty("hibernate.hbm2ddl.auto", action)
            .setProperty("hibernate.hbm2ddl.halt_on_error", "true")
            .setProperty("hibernate.type.json_format_mapper", JsonOfIntegers.class.getName())
            .setProperty("hibernate.connection.isolation", "SERIALIZABLE");
        for (Class<?> entity : entities) {
            configuration.addAnnotatedClass(entity);
        }
        return configuration.buildSessionFactory();
    }

    /** The least of a mapper, in place of a library for JSON. */
    public static final class JsonOfIntegers implements org.hibernate.type.format.FormatMapper {
        @Override
        public <T> T fromString(CharSequence text, org.hibernate.type.descriptor.java.JavaType<T> type, org.hibernate.type.descriptor.WrapperOptions options) {
            java.util.Map<String, Integer> map = new java.util.TreeMap<>();
            var pair = java.util.regex.Pattern.compile("\"(\\w+)\": *(\\d+)").matcher(text);
            while (pair.find()) {
                map.put(pair.group(1), Integer.valueOf(pair.group(2)));
            }
            return type.wrap(map, options);
        }

        @Override
        public <T> String toString(T value, org.hibernate.type.descriptor.java.JavaType<T> type, org.hibernate.type.descriptor.WrapperOptions options) {
            return value.toString().replaceAll("(\\w+)=", "\"$1\": ");
        }
    }

    public static void main(String[] arguments) {
        Steps.version("Hibernate " + Steps.of("hibernate-core"));
        SessionFactory[] opened = new SessionFactory[1];
        Steps.step("migrate", () -> opened[0] = open("create", Author.class, Book.class));
        SessionFactory factory = opened[0];
        Steps.step("insert", () -> factory.inTransaction(session -> {
            Author author = new Author();
            author.name = "Ada";
            for (int n = 1; n <= 3; n++) {
                Book book = new Book();
                book.title = "book " + n;
                book.price = new BigDecimal(n);
                book.tags = new String[] {"x", "t" + n};
                book.extra = Map.of("n", n);
                book.author = author;
                author.books.add(book);
            }
            session.persist(author);
        }));
        Steps.step("select", () -> factory.inTransaction(session -> {
            Author author = session.createQuery("from Author a join fetch a.books where a.name like :name", Author.class).setParameter("name", "A%").getSingleResult();
            Steps.equal(author.books.size(), 3);
            Steps.equal(author.books.get(0).extra.get("n"), author.books.get(0).price.intValue());
            var sums = "select a.name, sum(b.price), count(*) from Book b join b.author a group by a.name having count(*) > 1";
            Steps.equal(session.createQuery(sums, Object[].class).getSingleResult()[1], new BigDecimal("6.00"));
            Steps.equal(session.createQuery("from Book b where array_contains(b.tags, 't2')", Book.class).getResultList().size(), 1);
            Steps.equal(session.createQuery("from Book order by price desc", Book.class).setFirstResult(1).setMaxResults(1).getSingleResult().title, "book 2");
        }));
        Steps.step("reflect", () -> {
            open("validate", Author.class, Book.class).close();
            open("update", Author.class, Book.class).close();
        });
        Steps.step("transaction", () -> {
            Steps.refused("23505", () -> factory.inTransaction(session -> {
                session.createMutationQuery("delete from Book").executeUpdate();
                Author author = new Author();
                author.name = "Ada";
                session.persist(author);
            }));
            Steps.equal(factory.fromTransaction(session -> session.createQuery("select count(*) from Book", Long.class).getSingleResult()), 3L);
        });
        Steps.step("locks", () -> factory.inTransaction(session -> {
            var books = session.createQuery("from Book order by id", Book.class).setLockMode(LockModeType.PESSIMISTIC_WRITE).getResultList();
            books.get(0).title = "changed";
            session.flush();
            Steps.equal(books.get(0).version, 1);
        }));
        Steps.step("skip locked", () -> factory.inTransaction(one -> {
            var first = queue(one).getSingleResult();
            factory.inTransaction(other -> Steps.equal(queue(other).getSingleResult().id.equals(first.id), false));
        }));
        Steps.step("upsert", () -> factory.inStatelessSession(session -> {
            var transaction = session.beginTransaction();
            Book book = session.createQuery("from Book order by id", Book.class).setMaxResults(1).getSingleResult();
            book.title = "upserted";
            session.upsert(book);
            transaction.commit();
        }));
        Steps.step("large objects", () -> {
            try (SessionFactory documents = open("create", Document.class)) {
                documents.inTransaction(session -> {
                    Document document = new Document();
                    document.id = 1L;
                    document.content = new byte[] {1, 2, 3};
                    session.persist(document);
                });
            }
        });
        Steps.step("drop", () -> open("create-drop", Author.class, Book.class).close());
        factory.close();
    }

    private static org.hibernate.query.SelectionQuery<Book> queue(org.hibernate.Session session) {
        var query = session.createQuery("from Book order by id", Book.class).setMaxResults(1);
        return query.setHibernateLockMode(org.hibernate.LockMode.UPGRADE_SKIPLOCKED);
    }
}
