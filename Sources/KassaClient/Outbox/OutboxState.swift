import KassaPlatform

/// What the engine knows of its outbox beside the rows on disk.
struct OutboxState {
  enum Urgency: Comparable {
    /// What is due.
    case due
    /// Also what only waits for its next try.
    case everything
  }

  /// Fires when something came of receipts.
  let progress = Signal()
  /// What somebody waits for, and how many do: what came of it is written down at once.
  var awaited: [ReceiptID: Int] = [:]
  var news = News()
  /// One process at a time sends; nil where nobody else can.
  let lock: FileLock?
  var sender: Task<Void, Never>?
  /// What was asked for since the sender last looked.
  var wanted: Urgency?
  var timer: Task<Void, Never>?
  /// The disk refused to say what waits, or to note what came of it.
  var isBroken = false
  /// How often in a row somebody else than the service answered, and until when, on the boot clock, nothing is sent.
  var strangers = 0
  var quietUntil: Int64 = .min
  /// How often in a row what is to be told of people could not be told.
  var writeFailures = 0
  /// Bought by this client: whoever finishes transactions otherwise, it finishes these.
  var ownPurchases: Set<String> = []
  /// Scopes whose refused receipts have been offered again in this run.
  var releasedScopes: Set<String> = []

  init(directory: String) {
    lock = directory == ClientOptions.inMemory ? nil : FileLock(path: "\(directory)/outbox.lock")
  }
}
