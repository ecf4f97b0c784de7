import COpenSSL

/// libcrypto as a polite guest.
public enum OpenSSL {
  /// Initializes libcrypto without the exit handler that it would register by itself at first use. To be asked for
  /// before anything else touches libcrypto; false when it cannot be initialized.
  public static let isPrepared = OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil) == 1
}
