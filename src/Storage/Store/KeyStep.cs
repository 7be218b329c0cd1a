namespace Kv.Storage;

/// <summary>Which of very many keys are done in one step: no more than it has time for.</summary>
/// <param name="next">The first one.</param>
/// <param name="end">After the last that there is to do.</param>
/// <param name="most">So many at most.</param>
internal struct KeyStep(int next, int end, int most = KeyStep.KeysMax)
{
    /// <summary>So many keys are locked, worked on or let go of in one step at most: some 200 us.</summary>
    public const int KeysMax = 1024;

    private readonly int _end = (int)Math.Min(end, next + (long)most);
    private StepClock _clock = new();

    /// <summary>Whether a key is done in this step. Asked about each in turn, once.</summary>
    public bool Takes(int index) => index < _end && _clock.HasTime();
}
