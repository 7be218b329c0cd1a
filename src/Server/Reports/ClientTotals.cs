using System.Diagnostics;
using Kv.Server.Sessions;

namespace Kv.Server.Reports;

/// <summary>What all connections hold together, those of replicas apart, and the most that one of them
/// holds.</summary>
internal readonly record struct ClientTotals(
    long Buffers, long Replicas, long InputMax, long OutputMax, long Reserved, long Watching)
{
    public static ClientTotals Of(ConnectionTable connections)
    {
        long buffers = 0, replicas = 0, inputMax = 0, outputMax = 0, reserved = 0, watching = 0;
        foreach (var session in connections.Snapshot())
        {
            if (session.Kind == ClientKind.Replica) replicas += session.BufferBytes;
            else buffers += session.BufferBytes + (session.Transaction?.QueuedBytes ?? 0);
            inputMax = Math.Max(inputMax, session.QueryBytes);
            outputMax = Math.Max(outputMax, session.OutputBytes);
            if (session.IsReserved) reserved++;
            if (session.Transaction is { Watches.Count: > 0 }) watching++;
        }
        Debug.Assert(buffers >= 0 && replicas >= 0, "what a client holds is counted once");
        return new(buffers, replicas, inputMax, outputMax, reserved, watching);
    }
}
