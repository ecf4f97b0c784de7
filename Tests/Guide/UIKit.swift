// What the adapter of docs/store.md uses of UIKit, so that it can be type-checked where there is none. The signatures
// and their isolation are those of Apple's documentation; there is nothing behind them.

@MainActor open class UIScene {
  public enum ActivationState: Sendable { case unattached, foregroundActive, foregroundInactive, background }
  public var activationState: ActivationState { .unattached }
}

@MainActor open class UIWindowScene: UIScene {}

extension UIScene: Hashable {
  public nonisolated static func == (left: UIScene, right: UIScene) -> Bool { left === right }
  public nonisolated func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

@MainActor open class UIApplication {
  public static var shared: UIApplication { UIApplication() }
  public var connectedScenes: Set<UIScene> { [] }
}
