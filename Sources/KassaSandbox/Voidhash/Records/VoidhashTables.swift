import KassaPlatform

/// What Voidhash's half of the sandbox remembers.
struct VoidhashTables {
  var persons = Table<VoidhashPersonRecord>()
  var distinctIDs = Table<VoidhashDistinctIDRecord>()
  var series = Table<VoidhashSeriesRecord>()
  var receipts = Table<VoidhashReceiptRecord>()
  var developmentPurchases = Table<VoidhashDevelopmentRecord>()
  var events = Table<VoidhashEventRecord>()
  var requests = Table<VoidhashRequestCount>()
  var offerKeys = Table<VoidhashOfferKeyRecord>()

  mutating func load(from database: Database) throws(DatabaseError) {
    try persons.load(from: database)
    try distinctIDs.load(from: database)
    try series.load(from: database)
    try receipts.load(from: database)
    try developmentPurchases.load(from: database)
    try events.load(from: database)
    try requests.load(from: database)
    try offerKeys.load(from: database)
  }

  mutating func save(to database: Database) throws(DatabaseError) {
    try persons.save(to: database)
    try distinctIDs.save(to: database)
    try series.save(to: database)
    try receipts.save(to: database)
    try developmentPurchases.save(to: database)
    try events.save(to: database)
    try requests.save(to: database)
    try offerKeys.save(to: database)
  }
}
