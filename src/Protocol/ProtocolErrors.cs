namespace Kv.Protocol;

/// <summary>The text of each protocol error, byte for byte as Redis 7.0 sends it (but for the two that it
/// lacks).</summary>
public static class ProtocolErrors
{
    /// <summary>The error's text, without "-" and CR LF, for <see cref="ReplyWriter.WriteError"/>.</summary>
    /// <param name="status">A protocol error.</param>
    /// <param name="got"><see cref="ParseState.Got"/>; matters to <see cref="ParseStatus.ExpectedDollar"/> only. Sent
    /// as it is, unprintable or not, but CR, LF and NUL as a space.</param>
    public static byte[] Text(ParseStatus status, byte got) => status switch
    {
        ParseStatus.InvalidMultibulkLength => [.. "ERR Protocol error: invalid multibulk length"u8],
        ParseStatus.InvalidBulkLength => [.. "ERR Protocol error: invalid bulk length"u8],
        ParseStatus.TooBigMbulkCount => [.. "ERR Protocol error: too big mbulk count string"u8],
        ParseStatus.TooBigBulkCount => [.. "ERR Protocol error: too big bulk count string"u8],
        ParseStatus.TooBigInline => [.. "ERR Protocol error: too big inline request"u8],
        ParseStatus.UnbalancedQuotes => [.. "ERR Protocol error: unbalanced quotes in request"u8],
        ParseStatus.ExpectedDollar => [.. "ERR Protocol error: expected '$', got '"u8, Printable(got), (byte)'\''],
        ParseStatus.UnauthenticatedMultibulk => [.. "ERR Protocol error: unauthenticated multibulk length"u8],
        ParseStatus.UnauthenticatedBulk => [.. "ERR Protocol error: unauthenticated bulk length"u8],
        ParseStatus.ExpectedCrlf => [.. "ERR Protocol error: expected CRLF after bulk string"u8],
        ParseStatus.NulInInline => [.. "ERR Protocol error: NUL byte in inline request"u8],
        _ => throw new ArgumentOutOfRangeException(nameof(status), status, "not a protocol error"),
    };

    private static byte Printable(byte got) => got is (byte)'\r' or (byte)'\n' or 0 ? (byte)' ' : got;
}
