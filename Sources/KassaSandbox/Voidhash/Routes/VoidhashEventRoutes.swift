import KassaCore
import KassaJSON

/// The routes for events. All are taken and counted; those that write to a person do it.
extension VoidhashService {
  /// Voidhash publishes no limit.
  private static let mostBytes = 1 << 20

  func answerEvents(_ request: HTTPRequest, path: String) -> VoidhashAnswer {
    var answer: VoidhashAnswer
    do throws(VoidhashEventRefusal) {
      let events = try events(request, path: path)
      let accepted = events.filter { take($0) }.count
      answer = VoidhashAnswer(
        ["accepted": JSON(accepted), "rejected": JSON(events.count - accepted)], status: 202)
    } catch {
      answer = VoidhashAnswer(error.document, status: error.status)
    }
    answer.headers.append(HTTPHeader("X-Request-Id", "req_\(state.randomText(length: 14))"))
    return answer
  }

  private func events(_ request: HTTPRequest, path: String) throws(VoidhashEventRefusal) -> [Fields?] {
    let route = path.dropFirst(Self.eventPath.count)
    guard request.method == "POST", route == "batch" || route == "capture" else {
      throw VoidhashEventRefusal(404, "There is no \(request.method) \(path)")
    }
    guard request.body.count <= Self.mostBytes else {
      throw VoidhashEventRefusal(413, "The body has more than \(Self.mostBytes) bytes.")
    }
    guard let json = try? JSON.parse(request.body), let body = try? Fields(json) else {
      throw VoidhashEventRefusal(400, "The body is not a JSON object.")
    }
    func read<Value>(_ read: () throws(JSONShapeError) -> Value) throws(VoidhashEventRefusal) -> Value {
      do throws(JSONShapeError) { return try read() } catch { throw VoidhashEventRefusal(400, "\(error)") }
    }
    // The body's token counts more than the header's.
    let token = try read { () throws(JSONShapeError) in try body.optionalString("token") }
    guard let token = token ?? request.header("x-publishable-key"), isKey(token) else {
      throw VoidhashEventRefusal(401, "The token is no publishable key of this project.")
    }
    let sentAt = try read { () throws(JSONShapeError) in try body.string("sent_at") }
    guard Timestamp.milliseconds(iso8601: sentAt) != nil else {
      throw VoidhashEventRefusal(400, "sent_at must be an ISO 8601 time (got \"\(sentAt)\")")
    }
    if route == "capture" { return [body] }
    return try read { () throws(JSONShapeError) in try body.array("events") }.map { try? Fields($0) }
  }

  /// Whether the event is good. One that came before is, and does nothing.
  private func take(_ event: Fields?) -> Bool {
    guard let event, let record = try? VoidhashEventRecord(received: event, at: now) else { return false }
    guard state.store.voidhash.events[record.id] == nil else { return true }
    guard (try? carryOut(record, event)) != nil else { return false }
    state.store.voidhash.events.put(record)
    return true
  }

  /// What a client could not say at once it says by an event, later.
  private func carryOut(_ record: VoidhashEventRecord, _ event: Fields) throws {
    let properties = try event.object("properties")
    switch record.name {
    case "$identify":
      try identify(
        VoidhashDistinctID(try properties.string("$anon_distinct_id")),
        as: VoidhashDistinctID(try properties.string("$distinct_id")),
        VoidhashTraits(
          email: try properties.optionalString("$email"), name: try properties.optionalString("$name"),
          set: try properties.traits("$set") ?? [:]))
    case "$set":
      let set = try properties.traits("$set")
      apply(
        VoidhashTraits(set: set ?? [:], setOnce: try properties.traits("$set_once") ?? [:]), to: record.distinctID)
    default: break
    }
  }
}

extension VoidhashEventRecord {
  fileprivate init(received fields: Fields, at now: Int64) throws(JSONShapeError) {
    try self.init(
      id: fields.string("uuid"), name: fields.string("event"),
      distinctID: VoidhashDistinctID(fields.string("distinct_id")), receivedAt: now)
    _ = try fields.object("properties")
    _ = try fields.object("context")
    _ = try fields.optionalString("session_id")
    _ = try fields.time("timestamp")
    guard !id.isEmpty, !name.isEmpty, !distinctID.isBlank else { throw fields.problem("uuid", "is empty") }
    // The service keeps these names for itself.
    guard !name.hasPrefix("$purchase."), !name.hasPrefix("$subscription.") else {
      throw fields.problem("event", "is reserved")
    }
  }
}
