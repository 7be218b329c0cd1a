namespace Kv.Tests.Models;

/// <summary>No change of a watched key is missed, whatever becomes of its database meanwhile.</summary>
public sealed class WatchModelTests(ITestOutputHelper output)
{
    // Who watches or waits, who writes, and how often the number gets another database.
    private static readonly string[] Programs =
        ["XH", "XI", "BH", "BI", "XP", "BP", "XHP", "XIP", "XNP", "BHP", "BIP", "BNP", "XHPP", "XIPP", "BHPP", "BIPP",
            "BHNP", "XHHP", "BHIP", "XHIP"];

    // Whether the old database has the key at first, and whether the new one has.
    private static readonly string[] Firsts = ["00", "01", "10", "11"];

    [Fact]
    public void No_interleaving_misses_a_change()
    {
        int states = 0;
        foreach (string threads in Programs)
        {
            foreach (string first in Firsts)
            {
                try
                {
                    states += new WatchModel(threads, first, WatchFlaw.None).Run();
                }
                catch (ModelException wrong)
                {
                    Assert.Fail($"{threads} from {first}: {wrong.Message}");
                }
            }
        }

        output.WriteLine($"{states} states");
        Assert.True(states > 10_000, $"only {states} states");
    }

    [Theory]
    [InlineData(WatchFlaw.HeldIsAbsent)]
    [InlineData(WatchFlaw.LooksFirst)]
    [InlineData(WatchFlaw.AsksFirst)]
    [InlineData(WatchFlaw.ReportNotAwaited)]
    [InlineData(WatchFlaw.FormerForgotten)]
    internal void The_model_notices(WatchFlaw flaw)
    {
        foreach (string threads in Programs)
        {
            foreach (string first in Firsts)
            {
                try
                {
                    new WatchModel(threads, first, flaw).Run();
                }
                catch (ModelException wrong)
                {
                    output.WriteLine($"{threads} from {first}: {wrong.Message}");
                    return;
                }
            }
        }

        Assert.Fail($"{flaw} goes unnoticed");
    }

    // Who waits for the report knows the ids; looked at all the same, for writers whose epochs stand still (KeysHold).
    [Fact]
    public void The_model_says_that_the_ids_would_not_have_to_be_looked_at()
    {
        foreach (string threads in Programs)
            foreach (string first in Firsts) new WatchModel(threads, first, WatchFlaw.IdNotChecked).Run();
    }
}
