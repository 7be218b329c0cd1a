namespace Kv.Protocol;

/// <summary>What came of one attempt to parse a command. All from <see cref="InvalidMultibulkLength"/> on are protocol
/// errors: one reply with <see cref="ProtocolErrors.Text"/>, then the connection closes.</summary>
public enum ParseStatus : byte
{
    /// <summary>A command; or nothing (0 arguments), which gets no reply.</summary>
    Complete,

    /// <summary>The bytes end inside the command; it was left alone.</summary>
    NeedMoreData,

    /// <summary>"*" without a canonical number up to <see cref="RespLimits.MaxArguments"/>.</summary>
    InvalidMultibulkLength,

    /// <summary>"$" without a canonical number from 0 to <see cref="RespLimits.MaxBulkBytes"/>.</summary>
    InvalidBulkLength,

    /// <summary>No CR within <see cref="RespLimits.MaxHeaderBytes"/> after "*".</summary>
    TooBigMbulkCount,

    /// <summary>No CR within <see cref="RespLimits.MaxHeaderBytes"/> after "$".</summary>
    TooBigBulkCount,

    /// <summary>No newline within <see cref="RespLimits.MaxInlineBytes"/>.</summary>
    TooBigInline,

    /// <summary>A quote without its end, or text directly after a closing quote.</summary>
    UnbalancedQuotes,

    /// <summary>An argument that does not begin with "$"; <see cref="ParseState.Got"/> is its first byte.</summary>
    ExpectedDollar,

    /// <summary>More than <see cref="RespLimits.UnauthenticatedArguments"/> before AUTH.</summary>
    UnauthenticatedMultibulk,

    /// <summary>More than <see cref="RespLimits.UnauthenticatedBulkBytes"/> before AUTH.</summary>
    UnauthenticatedBulk,

    /// <summary>A bulk of the announced length is not followed by CR LF: the peer's lengths are wrong.</summary>
    ExpectedCrlf,

    /// <summary>A NUL in an inline command: the peer speaks another protocol.</summary>
    NulInInline,
}
