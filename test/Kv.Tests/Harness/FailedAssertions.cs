using System.Runtime.CompilerServices;
using Kv.Tests.Harness;
using Xunit.Sdk;

[assembly: AssemblyFixture(typeof(FailedAssertions))]

namespace Kv.Tests.Harness;

/// <summary>Fails the run if an assertion of the server failed in a build that has them, whatever became of the
/// exception: within a command it is but a reply, "internal error", which not every test reads.</summary>
public sealed class FailedAssertions : IDisposable
{
    private static string? _first;

    [ModuleInitializer]
    internal static void Watch() => AppDomain.CurrentDomain.FirstChanceException += (_, raised) =>
    {
        if (raised.Exception is not TraceAssertException failed) return;
        Interlocked.CompareExchange(ref _first, $"{failed.Message}\n{Environment.StackTrace}", null);
    };

    public void Dispose()
    {
        if (_first != null) Assert.Fail($"An assertion of the server has failed: {_first}");
    }
}
