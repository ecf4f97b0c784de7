import KassaCore
import KassaJSON
import KassaPlatform

/// What has yet to reach the service: telling of it, and sending it now.
extension Engine {
  /// Everything that has yet to reach the service, as it is on disk. nil where it cannot be read, which is not the same as
  /// nothing.
  func pending() -> JSON? {
    let scope = active?.setup.scope
    let pending = read { storage throws(DatabaseError) -> JSON in
      var receipts: [JSON] = [], writes: [JSON] = []
      let scopes = if let scope { [scope] } else { try storage.outboxScopes() }
      for scope in scopes {
        let waiting = try storage.waitingReceipts(limit: .max, scope: scope)
        let claims = try storage.claims(scope: scope), others = try storage.personWrites(scope: scope)
        receipts += waiting.map(\.document)
        writes += others.map(\.write.document)
        writes += claims.map { ["kind": "claim", "app_user_id": JSON($0.appUserID.text)] }
      }
      return [
        "pending_transaction_count": JSON(receipts.count), "transactions": .array(receipts), "writes": .array(writes),
      ]
    }
    return pending.map(state.stamped)
  }

  /// Sends what waits, without waiting for the next try.
  func syncPendingWork() async throws(KassaError) -> JSON {
    let active = try configured()
    writeRefused()
    wakeOutbox(.everything)
    let deadline = time.bootNanoseconds / 1_000_000 + Constants.syncPendingWaitMilliseconds
    while outbox.sender != nil, isCurrent(active), !Task.isCancelled {
      let left = deadline - time.bootNanoseconds / 1_000_000
      guard left > 0 else { break }
      await waitForProgress(milliseconds: left)
    }
    let count = try pendingCount(active)
    let writes = (try? storage.personWrites(scope: active.setup.scope).count) ?? 0
    return ["completed": JSON(count == 0 && writes == 0), "pending_transaction_count": JSON(count)]
  }

  /// How many receipts wait, also of those that the disk has yet to take.
  func pendingCount(_ active: Active) throws(KassaError) -> Int64 {
    let refused = Int64(refused.captures.values.count { $0.scope == active.setup.scope })
    do throws(DatabaseError) { return try storage.waitingReceiptCount(scope: active.setup.scope).adding(refused) } catch
    {
      throw KassaError(.storage, "the outbox cannot be read: \(error.message)", retryable: true)
    }
  }
}

extension ClientStorage.ReceiptRow {
  fileprivate var document: JSON {
    [
      "transaction_id": JSON(receipt.transactionID), "store": JSON(receipt.platform.rawValue),
      "store_product_id": JSON(receipt.storeProductID), "product_slug": JSON(receipt.productSlug),
      "distinct_id": JSON(receipt.owner.text), "attempts": JSON(receipt.attempts),
      "next_try_at": JSON(receipt.availableAt), "refused_at": JSON(receipt.refusedAt),
      "is_restore": JSON(receipt.isRestore || receipt.restoreOwner != nil), "is_host_owned": JSON(receipt.isHostOwned),
    ]
  }
}

extension ClientStorage.PersonWrite {
  fileprivate var document: JSON {
    switch self {
    case .identify(let identification): ["kind": "identify", "distinct_id": JSON(identification.id.text)]
    case .attributes(_, let id): ["kind": "attributes", "distinct_id": JSON(id.text)]
    case .unreadable(let kind, let id): ["kind": JSON(kind), "distinct_id": JSON(id.text)]
    }
  }
}
