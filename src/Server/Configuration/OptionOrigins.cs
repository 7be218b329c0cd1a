using System.Diagnostics;

namespace Kv.Server.Configuration;

/// <summary>Where the present value of each option comes from.</summary>
/// <remarks>Threads: written under <see cref="ServerOptions.ChangeLock"/>, or before the server starts; read by any. A
/// text is a reference to something immutable, so a reader finds the old one or the new one.</remarks>
internal sealed class OptionOrigins
{
    /// <summary>What is said of an option that nobody has set.</summary>
    public const string Default = "default", Code = "the program that runs the server";

    private const int CharsMax = 512;

    private readonly string?[] _where;

    public OptionOrigins() => _where = new string?[OptionTable.Rows.Count];

    private OptionOrigins(string?[] where) => _where = where;

    public OptionOrigins Copy() => new([.. _where]);

    /// <summary>Notes who has set an option; what adds up keeps the places that came before.</summary>
    public void Note(Option option, string where, bool adds = false)
    {
        Debug.Assert(where.Length > 0 && (uint)option.Row < (uint)_where.Length,
            "an option of the table is set by somebody");
        ref string? place = ref _where[option.Row];
        // Volatile: a client may read it now.
        Volatile.Write(ref place, adds && place is { Length: < CharsMax } ? $"{place}, {where}" : where);
    }

    /// <summary>A file and line, "command line", an environment variable, a CONFIG SET, or why there is none of
    /// these.</summary>
    public string Of(Option option, bool isDefault) =>
        Volatile.Read(ref _where[option.Row]) ?? (isDefault ? Default : Code);

    /// <summary>Whether a file, the command line, the environment or a client has set it.</summary>
    public bool Has(Option option) => Volatile.Read(ref _where[option.Row]) != null;
}
