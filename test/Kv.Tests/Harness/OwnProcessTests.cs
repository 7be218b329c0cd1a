using System.Runtime.InteropServices;
using Kv.Tests.Storage;

namespace Kv.Tests.Harness;

/// <summary>A test that runs in a child can fail, be skipped and die there, and measures nothing of its
/// parent.</summary>
public sealed class OwnProcessTests
{
    [Fact]
    public void What_fails_in_a_process_of_its_own_fails_here()
    {
        string message = Outcome(() => Assert.Fail("on purpose")).ToString();
        Assert.Contains("exit code 1", message, StringComparison.Ordinal);
        Assert.Contains("on purpose", message, StringComparison.Ordinal);
    }

    [Fact]
    public void What_ends_its_process_fails_here() =>
        Assert.Contains("exit code 3", Outcome(() => Environment.Exit(3)).ToString(), StringComparison.Ordinal);

    [Fact]
    public void What_is_skipped_in_a_process_of_its_own_is_skipped_here() =>
        Assert.Contains("for want of a reason", Outcome(() => Assert.Skip("for want of a reason")).Message,
            StringComparison.Ordinal);

    [Theory]
    [InlineData("a row")]
    [InlineData("another \"row\", with commas")]
    public void Each_row_of_a_theory_runs_by_itself(string row)
    {
        if (OwnProcess.Ran()) return;
        Assert.True(OwnProcess.IsHere);
        Assert.Contains("row", row, StringComparison.Ordinal);
    }

    [Fact]
    public unsafe void What_other_tests_left_behind_is_not_measured()
    {
        const int Bytes = 512 << 20;
        Requires.Linux("reads /proc");
        void* left = null;
        if (!OwnProcess.IsHere)
        {
            left = NativeMemory.Alloc(Bytes);
            new Span<byte>(left, Bytes).Fill(1);
        }

        try
        {
            if (!OwnProcess.Ran()) Assert.InRange(BlockTests.ResidentBytes(), 1 << 20, Bytes - 1);
        }
        finally
        {
            NativeMemory.Free(left);
        }
    }

    /// <summary>In the child does what ends the test; in the parent returns what the test saw of it.</summary>
    private static Exception Outcome(Action ending)
    {
        if (OwnProcess.IsHere)
        {
            if (!OwnProcess.Ran()) ending();
            return new InvalidOperationException("the ending did not end anything");
        }

        // Not Record.Exception: it lets a skip through.
        try
        {
            OwnProcess.Ran();
            return new InvalidOperationException("the child succeeded");
        }
        catch (Exception exception)
        {
            return exception;
        }
    }
}
