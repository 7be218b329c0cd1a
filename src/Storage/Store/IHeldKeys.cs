namespace Kv.Storage;

/// <summary>One key or several, held in this turn.</summary>
internal interface IHeldKeys
{
    /// <summary>Has work on them done in steps, in later turns. They are the work's from here on.</summary>
    /// <returns>Null when that cannot be just now: do it all in this turn.</returns>
    IHeldSteps? TryBeginUse(IHeldUse use);
}
