// GORM: AutoMigrate, its migrator, associations, upsert, locking, transactions.
package main

import (
	"errors"
	"time"

	. "clients/steps"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"
)

type Author struct {
	gorm.Model
	Name  string `gorm:"size:80;not null;uniqueIndex;comment:as printed"`
	Books []Book `gorm:"constraint:OnDelete:CASCADE"`
}

type Book struct {
	ID       int64
	AuthorID uint      `gorm:"not null;index"`
	Title    string    `gorm:"not null;default:untitled;index:by_title,where:price > 0"`
	Price    float64   `gorm:"type:numeric(10,2);check:price_positive,price >= 0"`
	Data     []byte    `gorm:"type:bytea"`
	Printed  time.Time `gorm:"type:date"`
	Tags     []Tag     `gorm:"many2many:book_tags"`
}

type Tag struct {
	ID   int64
	Name string `gorm:"unique"`
}

// BookLater is Book after a change: columns of other types and a new one.
type BookLater struct {
	ID       int64
	AuthorID uint    `gorm:"not null;index"`
	Title    string  `gorm:"type:varchar(200);not null;default:untitled"`
	Price    float64 `gorm:"type:numeric(12,3)"`
	Pages    *int
}

func (BookLater) TableName() string { return "books" }

func main() {
	Version("gorm.io/gorm", "gorm.io/driver/postgres")
	var db *gorm.DB
	Step("connect", func() {
		db = Must(gorm.Open(postgres.Open(URL), &gorm.Config{Logger: logger.Default.LogMode(logger.Error), TranslateError: true}))
	})
	Step("migrate", func() { Check(db.AutoMigrate(&Author{}, &Tag{}, &Book{})) })
	Step("migrate twice", func() { Check(db.AutoMigrate(&Author{}, &Tag{}, &Book{})) })
	Step("insert", func() { insert(db) })
	Step("select", func() { read(db) })
	Step("upsert", func() { upsert(db) })
	Step("locking", func() { locking(db) })
	Step("transaction", func() { transaction(db) })
	Step("alter", func() { alter(db) })
	Step("drop", func() { Check(db.Migrator().DropTable("book_tags", &Book{}, &Tag{}, &Author{})) })
}

var day = time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC)

func insert(db *gorm.DB) {
	author := Author{Name: "Ada", Books: []Book{
		{Title: "one", Price: 1.5, Data: []byte{0, 255}, Printed: day, Tags: []Tag{{Name: "x"}, {Name: "y"}}},
		{Price: 2, Printed: day},
	}}
	Check(db.Create(&author).Error)
	Equal([]any{author.ID, author.Books[0].ID, author.Books[1].Title}, []any{uint(1), int64(1), "untitled"})
	var many []Author
	for n := range 20 {
		many = append(many, Author{Name: string(rune('a' + n))})
	}
	Check(db.CreateInBatches(many, 7).Error)
}

func read(db *gorm.DB) {
	var author Author
	Check(db.Preload("Books", func(db *gorm.DB) *gorm.DB { return db.Order("id") }).Preload("Books.Tags").First(&author, "name = ?", "Ada").Error)
	book := author.Books[0]
	Equal([]any{book.Title, book.Price, book.Data, len(book.Tags)}, []any{"one", 1.5, []byte{0, 255}, 2})
	Equal(book.Printed.Format(time.DateOnly), "2024-02-29")
	var found []struct {
		Name  string
		Total float64
	}
	Check(db.Model(&Book{}).Select("authors.name, sum(price) AS total").Joins("JOIN authors ON authors.id = author_id").Group("authors.name").Scan(&found).Error)
	Equal(found[0].Total, 3.5)
}

func upsert(db *gorm.DB) {
	tag := Tag{Name: "x"}
	update := clause.OnConflict{Columns: []clause.Column{{Name: "name"}}, DoUpdates: clause.AssignmentColumns([]string{"name"})}
	Check(db.Clauses(update, clause.Returning{}).Create(&tag).Error)
	Equal(tag.ID, int64(1))
	Equal(errors.Is(db.Create(&Tag{Name: "x"}).Error, gorm.ErrDuplicatedKey), true)
	Equal(errors.Is(db.Create(&Book{AuthorID: 999, Printed: day}).Error, gorm.ErrForeignKeyViolated), true)
}

func locking(db *gorm.DB) {
	Check(db.Transaction(func(tx *gorm.DB) error {
		var book Book
		Check(tx.Clauses(clause.Locking{Strength: "UPDATE", Options: "SKIP LOCKED"}).First(&book, 1).Error)
		return tx.Model(&book).Update("price", gorm.Expr("price + ?", 1)).Error
	}))
}

func transaction(db *gorm.DB) {
	undone := errors.New("undone")
	err := db.Transaction(func(tx *gorm.DB) error {
		Check(tx.Delete(&Author{}, "name = ?", "a").Error)
		inner := tx.Transaction(func(inner *gorm.DB) error { return inner.Exec("SELECT 1/0").Error })
		Refused(inner, "22012")
		return undone
	})
	Equal(errors.Is(err, undone), true)
	var count int64
	Check(db.Model(&Author{}).Count(&count).Error)
	Equal(count, int64(21))
}

func alter(db *gorm.DB) {
	Check(db.AutoMigrate(&BookLater{}))
	migrator := db.Migrator()
	Equal([]bool{migrator.HasColumn(&BookLater{}, "pages"), migrator.HasIndex(&Book{}, "by_title"), migrator.HasConstraint(&Book{}, "price_positive")}, []bool{true, true, true})
	for _, column := range Must(migrator.ColumnTypes(&BookLater{})) {
		if column.Name() == "price" {
			precision, scale, _ := column.DecimalSize()
			Equal([]int64{precision, scale}, []int64{12, 3})
		}
	}
}
