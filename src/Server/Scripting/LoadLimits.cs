namespace Kv.Server.Scripting;

/// <summary>What ends the loading of a library.</summary>
/// <param name="Ms">So long its text may run.</param>
/// <param name="Cancel">Its client is gone.</param>
internal readonly record struct LoadLimits(int Ms, CancellationToken Cancel)
{
    /// <summary>As in the reference.</summary>
    private const int UsualMs = 500;

    /// <summary>All others stand still for it.</summary>
    private const int InExecMs = 100;

    /// <summary>They were loaded once, perhaps on a machine that was less busy; nobody waits but the start.</summary>
    private const int AtStartMs = 60_000;

    /// <summary>Several libraries together have so long.</summary>
    public int TogetherMs => 2 * Ms;

    public static LoadLimits InExec => new(InExecMs, CancellationToken.None);

    public static LoadLimits AtStart => new(AtStartMs, CancellationToken.None);

    public static LoadLimits Usual(CancellationToken cancel) => new(UsualMs, cancel);
}
