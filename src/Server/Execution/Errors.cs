using System.Text;
using Kv.Storage;

namespace Kv.Server.Execution;

/// <summary>Every error text that more than one command can return, once. Clients match on them: byte for byte as Redis
/// sends them.</summary>
/// <remarks>Without the "-" and CR LF: the reply writer adds them, and turns control bytes into spaces.</remarks>
internal static class Errors
{
    public static ReadOnlySpan<byte> Loading => "LOADING Redis is loading the dataset in memory"u8;
    public static ReadOnlySpan<byte> WrongType => "WRONGTYPE Operation against a key holding the wrong kind of value"u8;
    public static ReadOnlySpan<byte> Busy =>
        "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE."u8;
    public static byte[] SnapshotFails { get; } = Encoding.ASCII.GetBytes(
        "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk. Commands "
        + "that may modify the data set are disabled, because this instance is configured to report errors during "
        + "writes if RDB snapshotting fails (stop-writes-on-bgsave-error option). Please check the Redis logs for "
        + "details about the RDB error.");
    public static ReadOnlySpan<byte> NotAnInteger => "ERR value is not an integer or out of range"u8;
    public static ReadOnlySpan<byte> NotAFloat => "ERR value is not a valid float"u8;
    public static ReadOnlySpan<byte> Overflow => "ERR increment or decrement would overflow"u8;
    public static ReadOnlySpan<byte> DecrementOverflow => "ERR decrement would overflow"u8;
    public static ReadOnlySpan<byte> NanOrInfinity => "ERR increment would produce NaN or Infinity"u8;
    public static ReadOnlySpan<byte> Syntax => "ERR syntax error"u8;
    public static ReadOnlySpan<byte> NoSuchKey => "ERR no such key"u8;
    public static ReadOnlySpan<byte> IndexOutOfRange => "ERR index out of range"u8;
    public static ReadOnlySpan<byte> OffsetOutOfRange => "ERR offset is out of range"u8;
    public static ReadOnlySpan<byte> MustBePositive => "ERR value is out of range, must be positive"u8;
    public static ReadOnlySpan<byte> OutOfRange => "ERR value is out of range"u8;
    public static ReadOnlySpan<byte> OutOfSymmetricRange =>
        "ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807"u8;
    public static ReadOnlySpan<byte> StringTooLong => "ERR string exceeds maximum allowed size (proto-max-bulk-len)"u8;
    public static ReadOnlySpan<byte> EffectsTooLong =>
        "ERR more than 512 MB were written by one transaction or script, which the feed of replicas cannot carry"u8;
    public static ReadOnlySpan<byte> KeyTooLong => "ERR key is larger than max-key-bytes"u8;
    public static ReadOnlySpan<byte> ReplyTooLarge => "ERR reply is larger than max-reply-bytes"u8;
    public static ReadOnlySpan<byte> DatabaseOutOfRange => "ERR DB index is out of range"u8;
    public static ReadOnlySpan<byte> SameObject => "ERR source and destination objects are the same"u8;
    public static ReadOnlySpan<byte> PatternTooLong => "ERR pattern is longer than 1024 bytes"u8;
    public static ReadOnlySpan<byte> InvalidCursor => "ERR invalid cursor"u8;
    public static ReadOnlySpan<byte> NoValuesOfHashOnly => "ERR NOVALUES option can only be used in HSCAN"u8;

    public static ReadOnlySpan<byte> NoAuth => "NOAUTH Authentication required."u8;
    public static ReadOnlySpan<byte> WrongPass => "WRONGPASS invalid username-password pair or user is disabled."u8;
    public static ReadOnlySpan<byte> NoPassword =>
        "ERR AUTH <password> called without any password configured for the default user. Are you sure your "u8
        + "configuration is correct?"u8;

    public static ReadOnlySpan<byte> ClientName =>
        "ERR Client names cannot contain spaces, newlines or special characters."u8;

    public static ReadOnlySpan<byte> ClientNameTooLong => "ERR Client names cannot be longer than 128 bytes."u8;

    public static ReadOnlySpan<byte> NoProto => "NOPROTO unsupported protocol version"u8;
    public static ReadOnlySpan<byte> OutOfMemory => "OOM command not allowed when used memory > 'maxmemory'."u8;
    public static ReadOnlySpan<byte> MaxClients => "ERR max number of clients reached"u8;
    public static ReadOnlySpan<byte> ExecAbortBecause => "EXECABORT Transaction discarded because of: "u8;
    public static ReadOnlySpan<byte> TooManyBesideSession =>
        "EXECABORT Transaction discarded because of: more than 10000 commands, and among them some that are about "u8
        + "the connection or the server"u8;
    public static ReadOnlySpan<byte> TooManyWalks =>
        "EXECABORT Transaction discarded because of: more than 16 commands KEYS and SCAN, which together look at "u8
        + "more than 500000 keys"u8;
    public static ReadOnlySpan<byte> NoCluster => "ERR This instance has cluster support disabled"u8;
    public static ReadOnlySpan<byte> Internal => "ERR internal error, see the server's log"u8;

    public static ReadOnlySpan<byte> ProtectedMode =>
        "DENIED Redis is running in protected mode because protected mode is enabled and no password is set: only "u8
        + "clients on this machine are served. "u8 +
        "To open the server to others, start it with --requirepass <password> (and --bind <address>), or switch the "u8
        + "protection off with --protected-mode no."u8;

    /// <summary>The error for a HyperLogLog; not for <see cref="HyperLogLogStatus.Ok"/>.</summary>
    public static ReadOnlySpan<byte> For(HyperLogLogStatus status) => status switch
    {
        HyperLogLogStatus.WrongType => WrongType,
        HyperLogLogStatus.NotOne => "WRONGTYPE Key is not a valid HyperLogLog string value."u8,
        HyperLogLogStatus.Corrupt => "INVALIDOBJ Corrupted HLL object detected"u8,
        _ => Internal,
    };

    /// <summary>The error for a status of the store; not for <see cref="StoreStatus.Ok"/>.</summary>
    public static ReadOnlySpan<byte> For(StoreStatus status) => status switch
    {
        StoreStatus.WrongType => WrongType,
        StoreStatus.NotFound => NoSuchKey,
        StoreStatus.OutOfMemory => OutOfMemory,
        StoreStatus.TooLarge => StringTooLong,
        _ => Internal,
    };
}
