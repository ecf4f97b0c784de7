public enum Browser { public static func open(_ url: String, on loop: EventLoop) -> Bool { false } }
