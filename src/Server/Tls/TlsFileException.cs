namespace Kv.Server.Tls;

/// <summary>TLS cannot be set up as the options say. The message names the option and the file, and says what to
/// do.</summary>
internal sealed class TlsFileException(string message, Exception? inner = null) : Exception(message, inner);
