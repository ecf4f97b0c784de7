// swift-tools-version: 6.3
import PackageDescription

/// Async functions stay on the loop of their caller, and a warning is an error.
let swift: [SwiftSetting] = [
  .treatAllWarnings(as: .error),
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
  .enableUpcomingFeature("ExistentialAny"),
  // Ways to be wrong, which the kill test must notice (Sources/KassaClient/Outbox/Fault.swift). Never in a release.
  .define("KASSA_FAULTS", .when(configuration: .debug)),
]

func module(_ name: String, _ dependencies: [Target.Dependency], exclude: [String] = []) -> Target {
  .target(name: name, dependencies: dependencies, path: "Sources/\(name)", exclude: exclude, swiftSettings: swift)
}

/// `fixtures` is a folder of files that the tests read where they lie.
func tests(_ name: String, _ dependencies: [Target.Dependency], fixtures: String? = nil) -> Target {
  .testTarget(
    name: "\(name)Tests", dependencies: dependencies, path: "Tests/\(name)", exclude: fixtures.map { [$0] } ?? [],
    swiftSettings: swift)
}

func systemLibrary(_ name: String) -> Target {
  .systemLibrary(name: name, path: "Sources/System/\(name)")
}

func shim(_ name: String) -> Target {
  .target(name: name, path: "Sources/System/\(name)")
}

let package = Package(
  name: "Kassa",
  products: [
    .library(name: "kassa", type: .dynamic, targets: ["Kassa", "CStandIns"]),
    .executable(name: "kassa-sandbox", targets: ["kassa-sandbox"]),
  ],
  targets: [
    // What is not Swift: the header, the libraries of the system, and what Swift's Glibc lacks.
    .systemLibrary(name: "CKassa", path: "Include"),
    systemLibrary("CJansson"),
    systemLibrary("CSQLite"),
    systemLibrary("COpenSSL"),
    systemLibrary("CAres"),
    shim("CLinux"),
    shim("CCurl"),
    shim("CMicrohttpd"),
    shim("CStandIns"),

    // A module imports only modules above it.
    module("KassaJSON", ["CJansson"]),
    module("KassaCore", ["KassaJSON"]),
    module(
      "KassaPlatform",
      ["KassaCore", "KassaJSON", "CLinux", "CCurl", "CMicrohttpd", "CSQLite", "COpenSSL", "CAres"]),
    module("KassaReceipts", ["KassaCore", "KassaJSON", "KassaPlatform", "COpenSSL"]),
    module("KassaStores", ["KassaReceipts", "KassaCore", "KassaJSON", "KassaPlatform", "COpenSSL"]),
    module("KassaBackends", ["KassaCore", "KassaJSON", "KassaPlatform"]),
    module("KassaSandbox", ["KassaCore", "KassaJSON", "KassaPlatform", "COpenSSL"]),
    module("KassaClient", ["KassaCore", "KassaJSON", "KassaPlatform", "CLinux"]),
    module(
      "Kassa",
      [
        "CKassa", "CJansson", "KassaClient", "KassaSandbox", "KassaBackends", "KassaStores", "KassaReceipts",
        "KassaPlatform", "KassaCore", "KassaJSON",
      ],
      exclude: ["kassa.map"]),
    .executableTarget(
      name: "kassa-sandbox", dependencies: ["KassaSandbox", "KassaPlatform", "KassaCore", "KassaJSON"],
      path: "Sources/kassa-sandbox", swiftSettings: swift),

    // Measures what has no function in the header; Tests/Benchmarks/run.sh runs it.
    .executableTarget(
      name: "bench-store",
      dependencies: ["KassaStores", "KassaPlatform", "KassaCore", "KassaJSON", "CJansson", "CSQLite", "COpenSSL"],
      path: "Tests/Benchmarks/Store", swiftSettings: swift),

    tests("KassaJSON", ["KassaJSON", "CJansson"]),
    tests("KassaCore", ["KassaCore", "KassaJSON"], fixtures: "Fixtures"),
    tests("KassaPlatform", ["KassaPlatform", "KassaCore", "KassaJSON"], fixtures: "Fixtures"),
    tests("KassaReceipts", ["KassaReceipts", "KassaPlatform", "KassaCore", "KassaJSON", "COpenSSL"]),
    tests(
      "KassaStores",
      ["KassaStores", "KassaReceipts", "KassaPlatform", "KassaCore", "KassaJSON", "COpenSSL"], fixtures: "Fixtures"),
    tests("KassaBackends", ["KassaBackends", "KassaSandbox", "KassaPlatform", "KassaCore", "KassaJSON"]),
    tests(
      "KassaSandbox", ["KassaSandbox", "KassaStores", "KassaPlatform", "KassaCore", "KassaJSON", "COpenSSL"],
      fixtures: "Fixtures"),
    tests("KassaClient", ["KassaClient", "KassaBackends", "KassaSandbox", "KassaPlatform", "KassaCore", "KassaJSON"]),
  ],
  swiftLanguageModes: [.v6]
)

/// Programs that libFuzzer drives: only Tests/Fuzz/run.sh, which links with it, asks for them.
func fuzzer(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .executableTarget(
    name: "fuzz-\(name)", dependencies: ["CFuzzer"] + dependencies, path: "Tests/Fuzz/\(name)", swiftSettings: swift)
}

if Context.environment["KASSA_FUZZ"] != nil {
  package.targets += [
    .systemLibrary(name: "CFuzzer", path: "Tests/Fuzz/CFuzzer"),
    fuzzer("storekit", ["KassaStores"]),
    fuzzer("jws", ["KassaReceipts", "KassaCore", "KassaJSON"]),
  ]
}
