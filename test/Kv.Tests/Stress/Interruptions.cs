using Kv.Storage;

namespace Kv.Tests.Stress;

/// <summary>Holds threads up in the middle of what they do, so that others meet them there however few cores there
/// are.</summary>
/// <remarks>At the points that <see cref="Fault"/> names: under a record's lock, between the commands of a transaction,
/// between a record's making and its publishing.</remarks>
internal static class Interruptions
{
    [ThreadStatic] private static Random? t_random;

    /// <summary>The calling thread is held up from now on.</summary>
    public static void Begin(Random random)
    {
        t_random = random;
        Fault.AtEveryPoint = Here;      // for all threads; those without random numbers pass
    }

    private static void Here(string point)
    {
        if (t_random is not { } random) return;
        switch (random.Next(12))
        {
            case 0 or 1:
                Thread.Yield();
                break;
            case 2 or 3:
                Thread.SpinWait(random.Next(400));      // so that whoever runs on another core gets on
                break;
        }
    }
}
