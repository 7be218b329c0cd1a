namespace Kv.Protocol;

/// <summary>Every limit of the protocol, with its reason. One object per server; CONFIG SET changes it at run
/// time.</summary>
/// <remarks>
/// Threads: written by whichever session runs CONFIG SET, read by all without a barrier. Each is one aligned word, and
/// a parser that still sees the old value for a moment behaves as though the change came a moment later.
/// </remarks>
public sealed class RespLimits
{
    /// <summary>Bytes after '*' or '$' up to the CR. A 64-bit number has 20; the rest is for leniency no client
    /// needs.</summary>
    public const int MaxHeaderBytes = 32;

    /// <summary>Arguments of a command before AUTH: AUTH and HELLO need at most 7, so nobody can make us hold
    /// more.</summary>
    public const int UnauthenticatedArguments = 10;

    /// <summary>Bytes of one argument before AUTH: room for a token of any size in use, not for parking data.</summary>
    public const int UnauthenticatedBulkBytes = 16 * 1024;

    /// <summary>Aggregates inside aggregates in a reply. Deeper than any command's reply; bounds the reader's
    /// recursion.</summary>
    public const int MaxReplyDepth = 128;

    /// <summary>The parser's one- and two-digit lengths pass without a check, hence a lower bound; Redis has the
    /// same.</summary>
    public const int MinMaxBulkBytes = 1024 * 1024;

    /// <summary>The parser's one-digit counts pass without a check, hence a lower bound.</summary>
    public const int MinMaxArguments = 16;

    private int _maxBulkBytes = 512 * 1024 * 1024;
    private int _maxArguments = 1024 * 1024;
    private int _maxInlineBytes = 64 * 1024;

    /// <summary>Bytes of one argument (proto-max-bulk-len): no value is larger, and lengths stay far inside an
    /// int.</summary>
    public int MaxBulkBytes
    {
        get => _maxBulkBytes;
        set => _maxBulkBytes = AtLeast(value, MinMaxBulkBytes);
    }

    /// <summary>Arguments of one command (proto-max-args): at 16 bytes each, 16 MB of table at the default.</summary>
    public int MaxArguments
    {
        get => _maxArguments;
        set => _maxArguments = AtLeast(value, MinMaxArguments);
    }

    /// <summary>Bytes of an inline command before its newline: typed by hand, so that a lost peer is noticed
    /// early.</summary>
    public int MaxInlineBytes
    {
        get => _maxInlineBytes;
        set => _maxInlineBytes = AtLeast(value, 1);
    }

    private static int AtLeast(int value, int least)
    {
        ArgumentOutOfRangeException.ThrowIfLessThan(value, least);
        return value;
    }
}
