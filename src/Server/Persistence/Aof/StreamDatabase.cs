using System.Globalization;

namespace Kv.Server.Persistence.Aof;

/// <summary>Follows which database the commands of a stream are for: each file begins by saying so.</summary>
/// <remarks>Threads: one at a time.</remarks>
internal struct StreamDatabase
{
    public int Number { get; private set; }

    /// <summary>Follows whole commands.</summary>
    public void Follow(ReadOnlySpan<byte> commands)
    {
        // Nearly always it is not even among the values; only a command whose name it is counts.
        if (commands.IndexOf("SELECT"u8) < 0) return;
        while (commands.Length > 0)
        {
            var frame = new AofFrame(commands);
            if (frame.Read() != AofFrameStatus.Whole)
                throw new InvalidOperationException("the feed has whole commands");
            if (frame.Arguments == 2 && frame[0].SequenceEqual("SELECT"u8))
                Number = int.Parse(frame[1], NumberStyles.None, CultureInfo.InvariantCulture);
            commands = commands[frame.Length..];
        }
    }
}
