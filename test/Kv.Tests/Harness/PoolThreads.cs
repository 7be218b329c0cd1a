using System.Runtime.CompilerServices;

namespace Kv.Tests.Harness;

/// <summary>Room in the thread pool for tests that block its threads.</summary>
/// <remarks>A pool with as few threads as processors adds one in half a second. Sixteen clients of one test that wait
/// for their handshakes had all of them, and the servers of this process, which need one for the other side, closed
/// those as late after ten seconds.</remarks>
internal static class PoolThreads
{
    private const int Min = 64;

    [ModuleInitializer]
    internal static void Add()
    {
        if (OwnProcess.IsHere) return;      // what is measured there are threads, among others
        ThreadPool.GetMinThreads(out _, out int ports);
        ThreadPool.SetMinThreads(Min, ports);
    }
}
