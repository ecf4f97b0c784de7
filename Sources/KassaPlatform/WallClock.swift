import CLinux

/// The machine's wall clock, for what belongs to no client.
public enum WallClock {
  /// Since 1970 UTC. Users set it as they like.
  public static var milliseconds: Int64 { kassa_wall_milliseconds() }
}
