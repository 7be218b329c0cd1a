namespace Kv.Tests.Models;

public sealed class IndexModelTests(ITestOutputHelper output)
{
    private static readonly ModelProgram[] Programs =
    [
        // As in the first sketch of the protocol.
        ModelProgram.Parse("Set A | Set A", ""),
        ModelProgram.Parse("Set A | Set A | Get A", ""),
        ModelProgram.Parse("Set B | Set B | Sweep", ""),
        ModelProgram.Parse("Set A | Set A | Sweep", ""),
        ModelProgram.Parse("Set B | Get B | Sweep", "B"),
        ModelProgram.Parse("Delete B | Get B | Sweep", "B"),
        ModelProgram.Parse("Delete B | Set B | Sweep", "B"),
        ModelProgram.Parse("Set B | Set B | Sweep", "B"),
        ModelProgram.Parse("Set B | Delete B | Sweep", ""),
        ModelProgram.Parse("Set A | Delete A | Set A", ""),
        ModelProgram.Parse("Set A | Delete A | Set A", "A"),
        ModelProgram.Parse("Set A | Set B | Sweep", "B"),
        ModelProgram.Parse("Delete B; Set B | Get B | Sweep", "B"),
        ModelProgram.Parse("Delete A; Set A | Set A", "A"),
        ModelProgram.Parse("Delete A | Delete A | Set A", "A"),
        ModelProgram.Parse("Get B; Get B | Set B | Sweep", "AB"),

        // Chains: one entry a bucket.
        ModelProgram.Parse("Set A | Set a | Get A", "", entries: 1, growing: false),
        ModelProgram.Parse("Set B | Get b | Sweep", "Aab", entries: 1),
        ModelProgram.Parse("Delete B | Get b | Sweep", "ABb", entries: 1),
        ModelProgram.Parse("Delete A; Set A | Get a", "Aa", entries: 1, growing: false),
        ModelProgram.Parse("Set b | Delete B; Set B", "AB", entries: 1),

        // Chains that become shorter: the last bucket's entries move up, past who searches.
        ModelProgram.Parse("Delete A | Get a", "Aa", entries: 1, growing: false),
        ModelProgram.Parse("Delete A | Get b | Get b", "Aab", entries: 1, growing: false),
        ModelProgram.Parse("Delete a | Get b; Get A", "Aab", entries: 1, growing: false),
        ModelProgram.Parse("Delete A; Set A | Get a | Get a", "Aa", entries: 1, growing: false),
        ModelProgram.Parse("Delete A; Delete a | Get b; Get b", "Aab", entries: 1, growing: false),
        ModelProgram.Parse("Delete A | Set b | Get b", "Aab", entries: 1, growing: false),
        ModelProgram.Parse("Delete A | Delete a; Set a | Get b", "Aab", entries: 1, growing: false),
        ModelProgram.Parse("Delete A; Set A | GetMany a A", "Aa", entries: 1, growing: false),
        ModelProgram.Parse("Delete A | Get b | Sweep", "Aab", entries: 1),
        ModelProgram.Parse("Delete A | Move b | Get b", "Aab", entries: 1, growing: false),

        // Reclaim moves records.
        ModelProgram.Parse("Move A | Set A | Get A", "A", growing: false),
        ModelProgram.Parse("Move A | SetInPlace A | Get A", "A", growing: false),
        ModelProgram.Parse("Move A | Delete A; Set A", "A", growing: false),
        ModelProgram.Parse("Move B | Get B | Sweep", "B"),
        ModelProgram.Parse("Move B | Set B | Sweep", "B", entries: 1),

        // Writes in place, and what look-ahead found.
        ModelProgram.Parse("SetInPlace A | SetInPlace A | Get A", "A", growing: false),
        ModelProgram.Parse("Get B; HintedGet B | Set B | Sweep", "B"),
        ModelProgram.Parse("HintedGet A | Set A; Get A", "A", growing: false),
        ModelProgram.Parse("Get A; HintedGet A | Delete A; Set A", "A", growing: false),
        ModelProgram.Parse("Delete A; HintedSet A | Set A", "A", growing: false),
        ModelProgram.Parse("Get A; HintedGet A | Set A | Get A", "A", growing: false),

        // Several keys.
        ModelProgram.Parse("HoldSet A B | GetMany A B", "", growing: false),
        ModelProgram.Parse("HoldSet A B | GetMany B A", "A", growing: false),
        ModelProgram.Parse("HoldSet A B | GetMany A B", "AB", growing: false),
        ModelProgram.Parse("HoldSet A B | HoldSet A B | Get B", "A", growing: false),
        ModelProgram.Parse("HoldSet A B | Delete A | Get A", "A", growing: false),
        ModelProgram.Parse("HoldRename A B | Set A | Get B", "A", growing: false),
        ModelProgram.Parse("HoldRename A B | GetMany A B", "A", growing: false),
        ModelProgram.Parse("HoldRename A B | GetMany A B", "AB", growing: false),
        ModelProgram.Parse("HoldRename A B | Set B", "", growing: false),
        ModelProgram.Parse("HoldSet A B | GetMany A B | Sweep", "B"),
        ModelProgram.Parse("Set A; Set B | GetMany A B", "", growing: false),
        ModelProgram.Parse("Delete A; Delete B | GetMany A B", "AB", growing: false),
        ModelProgram.Parse("Delete A; Set A; Set B | GetMany A B", "A", growing: false),
        ModelProgram.Parse("Set A; Delete A; Set B | GetMany A B", "", growing: false),
        ModelProgram.Parse("HoldSet A B | HoldRename A B | GetMany A B", "A", growing: false),
        ModelProgram.Parse("HoldSet A B | Move A | GetMany A B", "AB", growing: false),
        ModelProgram.Parse("HoldRename A B | Set B | Sweep", "A"),

        // Two buckets become one.
        ModelProgram.ParseHalving("Set B | Get B | Merge", "B"),
        ModelProgram.ParseHalving("Set B | Set B | Merge", ""),
        ModelProgram.ParseHalving("Set A | Set B | Merge", "a"),
        ModelProgram.ParseHalving("Delete B | Get B | Merge", "AB"),
        ModelProgram.ParseHalving("Delete B; Set B | Get B | Merge", "B"),
        ModelProgram.ParseHalving("Delete A; Set A | Set B | Merge", "AB"),
        ModelProgram.ParseHalving("SetInPlace B | Get B; Get B | Merge", "B"),
        ModelProgram.ParseHalving("HintedGet B | Set B | Merge", "B"),
        ModelProgram.ParseHalving("Move B | Get B | Merge", "Bb"),
        ModelProgram.ParseHalving("Move B | Set B | Merge", "Bb", entries: 1),
        ModelProgram.ParseHalving("Delete B | Get b | Merge", "ABb", entries: 1),
        ModelProgram.ParseHalving("Set b | Get B | Merge", "AB", entries: 1),
        ModelProgram.ParseHalving("Delete A | Get B | Merge", "AaB", entries: 1),
        ModelProgram.ParseHalving("GetMany A B | Set B | Merge", "A"),
        ModelProgram.ParseHalving("GetMany A B | Delete B; Set A | Merge", "B"),
        ModelProgram.ParseHalving("HoldSet A B | GetMany A B | Merge", "B"),
        ModelProgram.ParseHalving("HoldRename A B | Set B | Merge", "A"),

        // More of everything.
        ModelProgram.Parse("Set B; Get B | Delete B; Get B | Sweep", "B"),
        ModelProgram.Parse("Set B; Delete b | Set b; Get B | Sweep", "AB", entries: 1),
        ModelProgram.Parse("Move B | SetInPlace B; Get B | HintedGet B", "B"),
        ModelProgram.Parse("Move A | Delete A; Set A | Get A; Get A", "A", growing: false),
    ];

    [Fact]
    public void Every_interleaving_of_the_index_protocol_is_linearizable()
    {
        int states = 0;
        foreach (ModelProgram program in Programs)
        {
            try
            {
                int count = ModelChecker.Run(program);
                states += count;
                output.WriteLine($"{count,9} states: {program}");
            }
            catch (ModelException wrong)
            {
                Assert.Fail($"{program}: {wrong.Message}");
            }
        }

        Assert.True(states > 100_000, $"only {states} states");
    }

    [Theory]
    [InlineData(Flaw.MissNotValidated)]
    [InlineData(Flaw.MissValidatedUnderLatch)]
    [InlineData(Flaw.InsertWithoutLatch)]
    [InlineData(Flaw.ReplaceWithoutLatch)]
    [InlineData(Flaw.UnlockedBeforeDead)]
    [InlineData(Flaw.ValueNotChecked)]
    [InlineData(Flaw.MovedWithoutLock)]
    [InlineData(Flaw.HintNotChecked)]
    [InlineData(Flaw.HeldOneByOne)]
    [InlineData(Flaw.ManyNotChecked)]
    [InlineData(Flaw.InsertKeepsSequence)]
    [InlineData(Flaw.SplitKeepsControl)]
    [InlineData(Flaw.MergeWithoutFarLatch)]
    [InlineData(Flaw.MergeKeepsFar)]
    [InlineData(Flaw.RemoveKeepsSequence)]
    internal void The_model_notices(Flaw flaw)
    {
        foreach (ModelProgram program in Programs)
        {
            try
            {
                ModelChecker.Run(program, flaw);
            }
            catch (ModelException wrong)
            {
                output.WriteLine($"{program}: {wrong.Message}");
                return;
            }
        }

        Assert.Fail($"{flaw} goes unnoticed");
    }

    // Orders that look as if they mattered. Should one of them begin to matter, the protocol has changed: then
    // docs/concurrency.md has to say why.
    [Theory]
    [InlineData(Flaw.NearClearedFirst)]
    [InlineData(Flaw.DeadBeforeRemoved)]
    [InlineData(Flaw.MovedUpNotKept)]
    internal void The_model_says_that_it_would_do_no_harm(Flaw flaw)
    {
        foreach (ModelProgram program in Programs)
            if (program.Threads.Length < 3 || program.Growing) ModelChecker.Run(program, flaw);
    }
}
