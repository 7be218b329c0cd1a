namespace Kv.Server.Persistence.Aof;

/// <summary>Where an increment ends, so that it can be gone on with.</summary>
/// <param name="Sum">That of all its commands.</param>
internal readonly record struct AofEnd(AofFileInfo File, long Length, uint Sum)
{
    /// <summary>That of a new one: it begins with the line of an empty group, so that from the first byte on damage can
    /// be told from a write that a crash has torn.</summary>
    public static AofEnd OfNew(AofFileInfo file) => new(file, AofGroup.LineBytes, AofGroup.FirstSum(file.Sequence));

    /// <summary>The line that a new one begins with.</summary>
    /// <param name="earlierLength">Up to where the file before it counts; 0: to its end.</param>
    public static byte[] Head(AofFileInfo file, long earlierLength = 0)
    {
        var line = new byte[AofGroup.LineBytes];
        new AofGroup(0, 0, earlierLength, AofGroup.FirstSum(file.Sequence)).Write(line);
        return line;
    }
}
