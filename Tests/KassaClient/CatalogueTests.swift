import KassaCore
import KassaJSON
import KassaPlatform
import Testing

@testable import KassaClient

/// What is sold is asked for again while the program runs, too.
@Suite struct CatalogueTests {
  private static let day: Int64 = 86_400_000

  private func asked(_ booth: Booth) -> Int {
    booth.rig.network.requests.filter { $0.url.hasSuffix("/schema") }.count
  }

  @Test(
    "A catalogue of more than a day is asked for again, by whoever comes back to the program or asks for products",
    arguments: ["foreground", "products"])
  func stale(trigger: String) throws {
    let booth = try Booth()
    func pull() throws {
      if trigger == "foreground" {
        #expect(booth.client.notify(["type": "foreground"]))
      } else {
        _ = try booth.rig.result(of: booth.client.products(nil))
      }
      booth.rig.advance(milliseconds: 100)
    }
    #expect(asked(booth) == 1)
    booth.rig.advance(milliseconds: Self.day - 60_000)
    try pull()
    #expect(asked(booth) == 1)
    booth.rig.advance(milliseconds: 120_000)
    try pull()
    booth.waitUntil { asked(booth) == 2 }
    #expect(asked(booth) == 2)
    try pull()
    #expect(asked(booth) == 2)
  }

  @Test("A catalogue that cannot be had is asked for once a minute, and the one that is known stands")
  func outage() throws {
    let booth = try Booth()
    booth.rig.advance(milliseconds: 2 * Self.day)
    booth.rig.network.set(.offline)
    for _ in 0..<3 { _ = try booth.rig.result(of: booth.client.products(["pro_monthly"])) }
    #expect(asked(booth) == 2)
    booth.rig.advance(milliseconds: 61_000)
    #expect(
      try booth.rig.result(of: booth.client.products(["pro_monthly"]))["products"]?.elements.first?.isObject == true)
    booth.waitUntil { asked(booth) == 3 }
    #expect(asked(booth) == 3)
  }

  @Test("A perk that no product is known to bring is asked about at once, and once only")
  func unsoldPerk() throws {
    let booth = try Booth()
    try booth.buy("pro_monthly", booth.sold("1"))
    booth.waitUntil { booth.rig.hasAccess("pro_monthly") }
    booth.rig.advance(milliseconds: 10_000)
    let before = asked(booth)
    booth.rig.network.rewrite { request, response in
      var response = response
      response.body = Array(
        String(decoding: response.body, as: UTF8.self).replacing("\"premium\"", with: "\"plus\"").utf8)
      if request.url.hasSuffix("/schema") { response.status = 200 }
      return response
    }
    for _ in 0..<2 {
      booth.rig.advance(milliseconds: 61_000)
      #expect(booth.client.notify(["type": "foreground"]))
      booth.waitUntil { booth.rig.hasPerk("plus") }
    }
    #expect(booth.rig.hasPerk("plus"))
    #expect(asked(booth) == before + 1)
  }
}
