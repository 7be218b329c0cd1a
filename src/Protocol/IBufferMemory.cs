namespace Kv.Protocol;

/// <summary>Where buffers that are long, but not very long, get their memory from.</summary>
/// <remarks>Threads: any.</remarks>
public unsafe interface IBufferMemory
{
    /// <summary>Takes memory; null when there is none.</summary>
    byte* Take(long bytes);

    /// <summary>Gives memory back.</summary>
    /// <param name="start">As it was taken.</param>
    /// <param name="bytes">As many as were asked for.</param>
    void Give(byte* start, long bytes);
}
