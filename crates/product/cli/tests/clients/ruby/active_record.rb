# ActiveRecord: migrations under its advisory lock, schema dump and load, models, locks, transactions, pool.

require "active_record"
require "pg"
require "stringio"
require_relative "steps"

# The distribution's, without what its corrections raise.
minor = ->(version) { version.to_s[/\A\d+\.\d+/] }
puts "version activerecord #{minor[ActiveRecord.version]}, pg #{minor[PG::VERSION]}"
ActiveRecord::Migration.verbose = false
ActiveRecord::Base.establish_connection("#{ENV.fetch("DATABASE_URL")}?pool=4")

class First < ActiveRecord::Migration[6.1]
  def change
    create_table :authors, comment: "who writes" do |t|
      t.string :name, limit: 80, null: false, index: { unique: true }
      t.string :tags, array: true, default: []
      t.jsonb :extra, null: false, default: {}
      t.timestamps
    end
    create_table :books do |t|
      t.references :author, null: false, foreign_key: { on_delete: :cascade }
      t.text :title, null: false, default: "untitled", comment: "as printed"
      t.decimal :price, precision: 10, scale: 2
      t.date :printed
      t.binary :cover
      t.boolean :sold, default: false
      t.uuid :key
      t.check_constraint "price >= 0", name: "price_positive"
      t.index :title, where: "price > 0", name: "dear"
    end
  end
end

class Second < ActiveRecord::Migration[6.1]
  disable_ddl_transaction!

  def change
    add_column :books, :pages, :integer
    rename_column :books, :sold, :is_sold
    change_column_null :books, :price, false, 0
    reversible { |direction| direction.up { change_column :books, :pages, :bigint } }
    add_index :books, :pages, algorithm: :concurrently
  end
end

class Author < ActiveRecord::Base
  has_many :books
end

class Book < ActiveRecord::Base
  belongs_to :author
end

# The migrations, under the lock that `rails db:migrate` takes.
def migrate(direction, target = nil)
  ActiveRecord::Migrator.new(direction, [First.new("First", 1), Second.new("Second", 2)], ActiveRecord::SchemaMigration, target).migrate
  [Author, Book].each(&:reset_column_information)
end

def dump
  ActiveRecord::SchemaDumper.dump(ActiveRecord::Base.connection, StringIO.new).string
end

step("connect") { equal ActiveRecord::Base.connection.select_value("SELECT 1"), 1 }
step("migrate") { migrate(:up) }
step("insert") do
  ada = Author.create!(name: "Ada", tags: %w[x y], extra: { "k" => [1, 2] })
  equal ada.id, 1
  ada.books.create!(title: "one", price: "1.50", printed: "2024-02-29", cover: "\0\xFF".b, key: "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11")
  rows = (1..20).map { |n| { author_id: 1, title: "n#{n}", price: n } }
  equal Book.insert_all(rows, returning: :id).rows.size, 20
end
step("select") do
  ada = Author.includes(:books).find_by!(name: "Ada")
  equal [ada.tags, ada.extra], [%w[x y], { "k" => [1, 2] }]
  one = ada.books.min_by(&:id)
  equal [one.price, one.printed, one.cover, one.is_sold], [BigDecimal("1.5"), Date.new(2024, 2, 29), "\0\xFF".b, false]
  equal Book.joins(:author).group("authors.name").sum(:price), { "Ada" => BigDecimal("211.5") }
  equal Book.where(title: %w[n1 n2]).order(:id).pluck(:title), %w[n1 n2]
  equal Book.find_each(batch_size: 7).count, 21
end
step("upsert") do
  Author.upsert({ name: "Ada", tags: ["z"], created_at: Time.now, updated_at: Time.now }, unique_by: :name)
  equal Author.find_by!(name: "Ada").tags, ["z"]
end
step("locks") do
  Book.transaction { equal Book.lock("FOR UPDATE SKIP LOCKED").find(1).title, "one" }
  Book.find(1).with_lock { |*| Book.find(1).update!(price: 3) }
end
step("transaction") do
  Book.transaction(isolation: :serializable) do
    Book.delete_all
    Book.transaction(requires_new: true) do
      refused(ActiveRecord::StatementInvalid) { Book.connection.execute("SELECT 1/0") }
      raise ActiveRecord::Rollback
    end
    raise ActiveRecord::Rollback
  end
  equal Book.count, 21
  refused(ActiveRecord::RecordNotUnique) { Author.create!(name: "Ada") }
  refused(ActiveRecord::InvalidForeignKey) { Book.connection.execute("INSERT INTO books (author_id, price) VALUES (999, 1)") }
  refused(ActiveRecord::NotNullViolation) { Book.connection.execute("INSERT INTO books (author_id) VALUES (1)") }
end
step("schema dump") do
  text = dump
  [
    'create_table "authors", comment: "who writes"', 't.string "tags", default: [], array: true', 't.jsonb "extra", default: {}, null: false',
    't.index ["name"], name: "index_authors_on_name", unique: true', 'name: "dear", where: "(price > (0)::numeric)"',
    't.check_constraint "price >= (0)::numeric", name: "price_positive"', 'add_foreign_key "books", "authors", on_delete: :cascade',
    'default: "untitled", null: false, comment: "as printed"', 't.decimal "price", precision: 10, scale: 2, null: false',
  ].each { |wanted| raise "no #{wanted} in\n#{text}" unless text.include?(wanted) }
end
step("explain") { raise "no plan" unless Book.where(id: 1).explain.include?("books") }
step("pool") do
  found = (1..20).map do |n|
    Thread.new { ActiveRecord::Base.connection_pool.with_connection { |own| own.select_value("SELECT #{n} + 1") } }
  end
  equal found.map(&:value), (2..21).to_a
end
step("schema load") do
  text = dump
  migrate(:down)
  equal ActiveRecord::Base.connection.tables.sort, %w[ar_internal_metadata schema_migrations]
  eval(text)
  equal dump, text
end
step("drop") { %i[authors books].each { |table| ActiveRecord::Base.connection.drop_table(table, force: :cascade) } }
