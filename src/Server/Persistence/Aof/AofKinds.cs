using Kv.Server.Effects;
using Kv.Server.Execution;

namespace Kv.Server.Persistence.Aof;

/// <summary>How a command of the file is treated.</summary>
internal enum AofKind : byte
{
    /// <summary>It is run while no key expires.</summary>
    Plain,

    /// <summary>Its times count from now: only files that were written by hand, or by old versions, have
    /// such.</summary>
    Relative,

    /// <summary>It is one or the other, which its options say, up to FIELDS where that is one.</summary>
    HasOptions,

    /// <summary>Likewise; they come after a value, which may be any word.</summary>
    HasOptionsAfterValue,

    /// <summary>RESTORE: its time counts from now, unless an option says otherwise.</summary>
    Restore,

    /// <summary>It runs others.</summary>
    Script,

    /// <summary>SELECT.</summary>
    Select,

    /// <summary>MULTI: what follows up to EXEC counts whole or not at all.</summary>
    Begin,

    /// <summary>EXEC.</summary>
    End,
}

/// <summary>Finds how commands are treated, by name.</summary>
/// <remarks>Threads: one at a time.</remarks>
internal sealed class AofKinds(CommandTable commands)
{
    private byte[] _lastName = [];
    private AofKind? _last;

    /// <returns>Null: there is no such command.</returns>
    public AofKind? Of(ReadOnlySpan<byte> name)
    {
        // Commands come in runs of one name.
        if (name.SequenceEqual(_lastName)) return _last;
        _last = commands.Find(name) is { } command ? Of(command) : null;
        _lastName = name.ToArray();
        return _last;
    }

    private static AofKind Of(Command command) => command.Name switch
    {
        "MULTI" => AofKind.Begin,
        "EXEC" => AofKind.End,
        "SELECT" => AofKind.Select,
        "EXPIRE" or "PEXPIRE" or "SETEX" or "PSETEX" or "HEXPIRE" or "HPEXPIRE" => AofKind.Relative,
        "SET" => AofKind.HasOptionsAfterValue,
        "GETEX" or "HSETEX" or "HGETEX" => AofKind.HasOptions,
        "RESTORE" => AofKind.Restore,
        "EVAL" or "EVALSHA" or "FCALL" => AofKind.Script,
        _ => AofKind.Plain,
    };

    /// <summary>Of a command whose kind its options say, what it is.</summary>
    public static AofKind Decide(AofKind kind, in CommandFrame frame) => kind switch
    {
        AofKind.HasOptions when HasRelativeTime(frame, 2) => AofKind.Relative,
        AofKind.HasOptionsAfterValue when HasRelativeTime(frame, 3) => AofKind.Relative,
        AofKind.Restore when frame.Arguments > 3 && !frame[2].SequenceEqual("0"u8) && !frame.Has(4, "ABSTTL"u8) =>
            AofKind.Relative,
        AofKind.HasOptions or AofKind.HasOptionsAfterValue or AofKind.Restore => AofKind.Plain,
        _ => kind,
    };

    private static bool HasRelativeTime(in CommandFrame frame, int from) =>
        frame.Has(from, "EX"u8, "FIELDS"u8) || frame.Has(from, "PX"u8, "FIELDS"u8);
}
