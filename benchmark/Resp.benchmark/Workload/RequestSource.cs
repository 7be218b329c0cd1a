namespace RespBenchmark.Workload;

/// <summary>One loop's source of request bytes: every operation drawn afresh, rendered into one image that is used
/// again and again, so that memory does not depend on keys, operations or batch.</summary>
/// <remarks>Threads: its loop's only. Allocates nothing after it was made.</remarks>
internal abstract class RequestSource : IDisposable
{
    /// <summary>What an image holds at most; longer commands come in pieces.</summary>
    public const int ImageBytes = 128 * 1024;

    /// <summary>Renders the next commands of a session.</summary>
    /// <param name="session">The session's place in its stream: where a piece ended, its own counters, the draws kept
    /// for a sequence. The source owns what is in it.</param>
    /// <param name="commandsMax">At most so many commands are begun, at least 1; one that goes on from the last chunk
    /// counts too.</param>
    /// <returns>Bytes that are valid until the next call. When the last command is longer than the image, its rest
    /// comes with the next calls for the same session, which begin no other before it is whole. No bytes and no
    /// commands: the session's stream has ended (a load's slice); the run has when all its sessions' streams
    /// have.</returns>
    public abstract RequestChunk Render(ref SessionStream session, int commandsMax);

    public abstract void Dispose();
}

/// <summary>Rendered requests.</summary>
internal readonly ref struct RequestChunk
{
    /// <summary>The bytes to send.</summary>
    public ReadOnlySpan<byte> Bytes { get; init; }

    /// <summary>Commands whose last byte is in <see cref="Bytes"/>.</summary>
    public int Commands { get; init; }

    /// <summary>The kind of each completed command; empty when all are of kind <see cref="Kind"/>.</summary>
    public ReadOnlySpan<byte> Kinds { get; init; }

    public byte Kind { get; init; }

    /// <summary>The number of the key of each completed command, when the workload asks for it (verification); else
    /// empty.</summary>
    public ReadOnlySpan<long> Keys { get; init; }

    /// <summary>Whether the last command goes on in the next chunk.</summary>
    public bool IsCut { get; init; }
}
