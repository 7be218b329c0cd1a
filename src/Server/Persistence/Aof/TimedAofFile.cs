using System.Diagnostics;
using Kv.Server.Configuration;
using Kv.Server.Diagnostics;

namespace Kv.Server.Persistence.Aof;

/// <summary>A file whose writes and syncs are events of LATENCY where they take long.</summary>
/// <param name="file">Owned by this one.</param>
internal sealed class TimedAofFile(IAofFile file, ServerOptions options, LatencyMonitor latency) : IAofFile
{
    public long Length => file.Length;

    public void Write(ReadOnlySpan<byte> bytes)
    {
        long begin = Stopwatch.GetTimestamp();
        file.Write(bytes);
        latency.Note(LatencyEvent.AofWrite, Stopwatch.GetTimestamp() - begin);
    }

    public void Sync()
    {
        long begin = Stopwatch.GetTimestamp();
        file.Sync();
        latency.Note(options.AppendFsync == AppendFsync.Always ? LatencyEvent.AofFsyncAlways : LatencyEvent.AofFsync,
            Stopwatch.GetTimestamp() - begin);
    }

    public void Cut(long length) => file.Cut(length);

    public void Dispose() => file.Dispose();
}
