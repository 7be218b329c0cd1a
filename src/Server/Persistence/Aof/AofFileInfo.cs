namespace Kv.Server.Persistence.Aof;

/// <summary>What a file of the append-only file is for; the letter is the manifest's.</summary>
internal enum AofFileType : byte
{
    /// <summary>All data as of one instant.</summary>
    Base = (byte)'b',

    /// <summary>Replaced by a newer base: to be deleted.</summary>
    History = (byte)'h',

    /// <summary>What was written after the files before.</summary>
    Increment = (byte)'i',
}

/// <summary>One file of the append-only file.</summary>
/// <param name="Name">Without its folder.</param>
/// <param name="Sequence">Counts the files of its type.</param>
internal sealed record AofFileInfo(string Name, long Sequence, AofFileType Type);
